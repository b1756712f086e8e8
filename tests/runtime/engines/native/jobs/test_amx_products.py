"""Products and convolutions in tiles of AMX, emulated, against float64."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests import sums
from tests.runtime.engines.native import in_float64
from tests.runtime.engines.native.graphs import Given, Ran, emulated_tiles, normal
from tests.runtime.engines.native.guarded import outcomes
from tests.runtime.engines.native.guarded_graphs import graph_of
from ttc.runtime.engines.native.codegen.features import Cpu, host_cpu
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.kernels.amx_gemm import AmxGemm
from ttc.runtime.engines.native.prepare.build import lower_graph
from ttc.runtime.tensors import Constants

PRECISIONS = ("bfloat16", "high", "float32")
ERRORS = {"bfloat16": 2.0**-7, "high": 2.0**-15, "float32": 2.0**-21}
"""Of products, by precision; of sums, shares of the sum of magnitudes."""
SIZES = (1, 2, 15, 16, 17, 31, 32, 33, 67)
PLAIN = {"transpose_a": False, "transpose_b": False}


product = partial(in_float64.product, tiles=True)


def in_tiles(found: Ran) -> None:
    assert not found.refusals
    assert "AmxGemm" in found.kernels
    assert "Gemm" not in found.kernels


def close(found: Ran, a: NDArray, b: NDArray, precision: str) -> None:
    """Each element within its share of the sum of magnitudes."""
    in_tiles(found)
    a, b = a.astype(np.float64), b.astype(np.float64)
    sums.close(found.native, a @ b, np.abs(a) @ np.abs(b), ERRORS[precision])


@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=12)
@given(m=st.sampled_from(SIZES), k=st.sampled_from(SIZES), n=st.sampled_from(SIZES), flags=st.integers(0, 3))
def test_odd_shapes(precision: str, m: int, k: int, n: int, flags: int) -> None:
    a, b = normal(k, m) if flags & 1 else normal(m, k), normal(k, n)
    found = product(a, b.T.copy() if flags & 2 else b, precision=precision, transpose_a=bool(flags & 1), transpose_b=bool(flags & 2))
    close(found, a.T if flags & 1 else a, b, precision)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_groups_of_rows_and_tasks(precision: str) -> None:
    a, b = normal(300, 257), normal(257, 131)
    close(product(a, b, precision=precision), a, b, precision)
    alone, together = (product(a, b, precision=precision, threads=threads).native for threads in (1, 3))
    np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("precision", ["high", "float32"])
@pytest.mark.parametrize("format", ["Float32", "Float16_b", "Half"])
def test_rows_that_one_task_meets_are_brought_into_parts_by_it(precision: str, format: str) -> None:
    """Two groups of rows of which each meets all panels at once; where several tasks meet the rows, a job before them does it once."""
    a, b = normal(140, 70), normal(70, 100)
    found = product(a, b, precision=precision, format=format)
    assert "SplitRows" not in found.kernels
    found.close(max(ERRORS[precision], 2.0**-7 * (format != "Float32")))
    a, b = normal(40, 400), normal(400, 600)
    found = product(a, b, precision=precision)
    assert "SplitRows" in found.kernels
    close(found, a, b, precision)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", [(70, 5000, 70), (2, 70, 9000, 40), (300, 2100, 33), (17, 20000, 9)])
def test_channels_in_runs(precision: str, shape: tuple[int, ...]) -> None:
    """Rows so long that a group of them does not stay near: the same sums, however many threads there are."""
    *batch, m, k, n = shape
    a, b = normal(*batch, m, k), normal(*batch, k, n)
    found = product(a, b, precision=precision, threads=1)
    close(found, a, b, precision)
    np.testing.assert_array_equal(found.native, product(a, b, precision=precision, threads=3).native)


def test_wild_rows_and_panels_in_runs() -> None:
    a, b = normal(70, 5000), normal(5000, 70)
    a[40, 4000], b[1, 69] = np.inf, np.nan
    found = product(a, b)
    in_tiles(found)
    expected = in_float64.multiplied(a, b)
    in_float64.strange_alike(found.native, expected)
    np.testing.assert_allclose(np.delete(found.native, 40, 0)[:, :69], np.delete(expected, 40, 0)[:, :69], rtol=0, atol=0.02)


def test_six_products_are_as_exact_as_float32() -> None:
    a, b = normal(96, 768), normal(768, 96)
    expected = a.astype(np.float64) @ b
    ours = np.abs(product(a, b).native - expected).max()
    assert ours <= 2 * np.abs(product(a, b, tiles=False).native - expected).max()
    assert np.abs(product(a, b, precision="high").native - expected).max() > 4 * ours


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("a", "b"), [((3, 5, 7), (7, 9)), ((2, 1, 5, 7), (3, 7, 9)), ((5, 7), (2, 3, 7, 9)), ((2, 33, 64), (2, 64, 40))])
def test_batches(precision: str, a: Sequence[int], b: Sequence[int]) -> None:
    x, y = normal(*a), normal(*b)
    close(product(x, y, precision=precision), x, y, precision)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("format", ["Float32", "Float16_b", "Half"])
def test_regions(precision: str, format: str) -> None:
    a, b, bias = normal(45, 64), normal(64, 70), normal(70)
    found = product(a, b, Given(bias, constant=True), precision=precision, format=format, activation="relu")
    in_tiles(found)
    found.close(max(ERRORS[precision], 2.0**-7 * (format != "Float32")))


@pytest.mark.parametrize("level", ["avx2", "generic"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_other_instruction_sets(level: str, precision: str) -> None:
    a, b = normal(35, 33), normal(33, 17)
    close(product(a, b, precision=precision, level=level), a, b, precision)


@pytest.mark.parametrize("depth", [64, 60])
@pytest.mark.parametrize("rows", [1, 5, 31, 33, 50, 300])
def test_last_rows_of_bfloat16(rows: int, depth: int) -> None:
    a, b = normal(rows, depth), normal(depth, 70)
    close(product(a, b, precision="bfloat16"), a, b, "bfloat16")
    close(product(a, b, precision="bfloat16", format="Float16_b"), a, b, "bfloat16")


@pytest.mark.parametrize("dilation", [1, 2])
def test_few_channels_fill_tiles_in_each_phase_of_the_gaps_of_windows(dilation: int) -> None:
    cpu = host_cpu().limited_to("avx512")
    cpu = Cpu(cpu.arch, cpu.features | {"amx-tile", "amx-bf16"})
    attrs = {"strides": (1, 1), "pads": (0,) * 4, "dilations": (dilation,) * 2, "groups": 1}
    graph = graph_of("conv2d", [(64, 40, 40, 4), (16, 16, 4, 48)], attrs, held=(1,), precision="bfloat16")
    lowered = lower_graph(graph.netlist.graphs["g"], graph.netlist, Constants(graph.tensors), cpu)
    kernels = [type(step.kernel) for step in lowered.steps if isinstance(step, Job)]
    assert kernels.count(AmxGemm) == dilation


@pytest.mark.parametrize(("shape", "has_room", "elements"), [((33, 64), True, 64 * 64), ((64, 64), True, 64 * 64), ((33, 60), False, None)])
def test_memory_of_rows_of_bfloat16_holds_whole_blocks(shape: tuple[int, int], has_room: bool, elements: int | None) -> None:
    graph = graph_of("matmul", [shape, (shape[1], 40)], PLAIN, "Float16_b", held=(1,), precision="bfloat16")
    lowered = lower_graph(graph.netlist.graphs["g"], graph.netlist, Constants(graph.tensors), emulated_tiles())
    (job,) = (step for step in lowered.steps if isinstance(step, Job) and isinstance(step.kernel, AmxGemm))
    assert isinstance(job.kernel, AmxGemm)
    rows = job.words[job.kernel.names.index("a")]
    assert isinstance(rows, View)
    assert job.kernel.has_room is has_room
    assert rows.buffer.size_bytes == 2 * (elements or rows.elements)


# ---- numbers that are no sums of parts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["high", "float32"])
@pytest.mark.parametrize("rows", [32, 40])
def test_wild_rows_are_computed_in_float32(precision: str, rows: int) -> None:
    a, b = normal(rows, 64), normal(64, 40)
    a[1, 3], a[2, 5], a[3, 7], a[4], a[5] = np.inf, np.nan, 3.4028e38, 1e-40, 0
    a[33 % rows, 2] = -np.inf
    found = product(a, b, precision=precision)
    in_tiles(found)
    expected = in_float64.multiplied(a, b)
    in_float64.strange_alike(found.native, expected)
    assert np.abs(found.native[4]).max() > 1e-40
    np.testing.assert_allclose(found.native[4], expected[4], rtol=0, atol=2e-43 if precision == "float32" else 1e-42)
    assert (found.native[5] == 0).all()
    np.testing.assert_allclose(found.native[6:33], expected[6:33], rtol=0, atol=80 * ERRORS[precision])


@pytest.mark.parametrize("precision", ["high", "float32"])
def test_wild_panels_are_computed_in_float32(precision: str) -> None:
    a, b = normal(40, 33), normal(33, 70)
    b[2, 3], b[4, 5], b[6, 8], b[:, 9], b[:, 10] = np.inf, np.nan, -3.4028e38, 1e-39, 0
    found = product(a, b, precision=precision)
    in_tiles(found)
    expected = in_float64.multiplied(a, b)
    in_float64.strange_alike(found.native, expected)
    np.testing.assert_allclose(found.native[:, 9], expected[:, 9], rtol=0, atol=1e-43 if precision == "float32" else 1e-42)
    others = np.delete(np.arange(70), [3, 5, 8])
    np.testing.assert_allclose(found.native[:, others], expected[:, others], rtol=0, atol=60 * ERRORS[precision])


@pytest.mark.parametrize("scale", [2.0**-47, 2.0**-20, 2.0**30, 2.0**47])
def test_magnitudes_within_bounds_lose_nothing(scale: float) -> None:
    a, b = normal(33, 64) * np.float32(scale), normal(64, 33) * np.float32(2.0**-40)
    close(product(a, b), a, b, "float32")


def test_bfloat16_passes_infinities_on() -> None:
    a, b = normal(33, 40), normal(40, 17)
    a[3, 2], a[4, 1] = np.inf, np.nan
    found = product(a, b, precision="bfloat16")
    in_tiles(found)
    assert np.isinf(found.native[3]).all()
    assert np.isnan(found.native[4]).all()
    assert np.isfinite(np.delete(found.native, (3, 4), 0)).all()


# ---- convolutions ----------------------------------------------------------------------------------------------------------------------


def convolved(x: NDArray, w: NDArray, *others: Given, precision: str, op: str = "conv2d", **rest: Any) -> tuple[Ran, NDArray, NDArray]:
    """One convolution, what it is in float64, and the sums of magnitudes."""
    attrs = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1, **rest}
    found, expected = in_float64.convolved(x, w, *others, op=op, precision=precision, tiles=True, **attrs)
    return found, expected, in_float64.convolution(op, [np.abs(array) for array in (x, w, *(other.array for other in others))], attrs)


@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=10)
@given(
    size=st.tuples(*[st.sampled_from((1, 3, 6, 15))] * 2),
    channels=st.tuples(st.sampled_from((2, 3, 9, 15, 33)), st.sampled_from((1, 16, 33))),
    taps=st.tuples(*[st.integers(1, 3)] * 2),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    moves=st.tuples(*[st.integers(1, 2)] * 4),
)
def test_odd_windows(
    precision: str,
    size: tuple[int, int],
    channels: tuple[int, int],
    taps: tuple[int, int],
    pads: tuple[int, int, int, int],
    moves: tuple[int, int, int, int],
) -> None:
    strides, dilations = moves[:2], moves[2:]
    reach = [(k - 1) * d + 1 for k, d in zip(taps, dilations, strict=True)]
    x, w = normal(2, max(size[0], reach[0]), max(size[1], reach[1]), channels[0]), normal(*taps, *channels)
    found, expected, magnitudes = convolved(x, w, precision=precision, strides=strides, pads=pads, dilations=dilations)
    if precision != "float32" or taps != (3, 3):
        in_tiles(found)
    sums.close(found.native, expected, magnitudes, ERRORS[precision])


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("channels", "taps", "stride"), [(3, 7, 2), (64, 1, 1), (20, 1, 2), (18, 3, 2), (70, 2, 1)])
def test_windows_with_a_region(precision: str, channels: int, taps: int, stride: int) -> None:
    x, w, bias = normal(1, 17, 15, channels), normal(taps, taps, channels, 35), Given(normal(35), constant=True)
    pads = (taps // 2,) * 4
    found, expected, magnitudes = convolved(x, w, bias, precision=precision, strides=(stride, stride), pads=pads, activation="relu")
    in_tiles(found)
    sums.close(found.native, expected, magnitudes, ERRORS[precision])


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("size", "taps", "stride", "dilation"), [(24, 2, 1, 1), (33, 4, 2, 1), (26, 3, 1, 3), (19, 1, 2, 1)])
def test_frames_of_several_groups_and_tasks(precision: str, size: int, taps: int, stride: int, dilation: int) -> None:
    """More windows than a group has rows, in two images."""
    x, w, bias = normal(2, size, size + 1, 40), normal(taps, taps, 40, 50), Given(normal(50), constant=True)
    moves: dict[str, Any] = {"strides": (stride, stride), "dilations": (dilation, dilation), "pads": (1, 0, 2, 1)}
    found, expected, magnitudes = convolved(x, w, bias, precision=precision, **moves)
    in_tiles(found)
    sums.close(found.native, expected, magnitudes, ERRORS[precision])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_frames_that_are_copied_piece_by_piece(precision: str) -> None:
    """Cells of 3,000 channels, of which the cache holds a few rows of the image."""
    x, w = normal(1, 18, 17, 3000), normal(2, 2, 3000, 5)
    found, expected, magnitudes = convolved(x, w, precision=precision, pads=(1, 1, 0, 0))
    in_tiles(found)
    sums.close(found.native, expected, magnitudes, ERRORS[precision])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_transposed_convolutions(precision: str) -> None:
    x, w = normal(1, 7, 9, 20), normal(3, 3, 17, 20)
    options: dict[str, Any] = {"op": "conv_transpose2d", "strides": (2, 2), "pads": (1, 1, 1, 1), "output_padding": (1, 1)}
    found, expected, magnitudes = convolved(x, w, precision=precision, **options)
    in_tiles(found)
    sums.close(found.native, expected, magnitudes, ERRORS[precision])


def test_groups_of_channels_are_left_to_float32() -> None:
    found, expected, magnitudes = convolved(normal(1, 9, 8, 12), normal(3, 3, 6, 34), precision="high", groups=2)
    assert "Gemm" in found.kernels
    sums.close(found.native, expected, magnitudes, ERRORS["float32"])


@pytest.mark.parametrize("precision", ["high", "float32"])
@pytest.mark.parametrize("value", [np.inf, np.nan, 3.4e38])
def test_wild_pixels_reach_what_their_windows_reach(precision: str, value: float) -> None:
    x, w = normal(1, 14, 14, 9), normal(3, 3, 9, 16)
    x[0, 5, 6, 3], x[0, 0, 0, 0] = value, -value
    found, expected, _ = convolved(x, w, precision=precision, pads=(1, 1, 1, 1))
    in_tiles(found)
    in_float64.close_where_tame(found.native, expected, 80 * ERRORS[precision], least=2000)


# ---- memory ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_kernels_stay_inside(precision: str, at_end: bool) -> None:
    attrs = {"strides": (1, 2), "pads": (1, 0, 2, 1), "dilations": (1, 1), "groups": 1}
    inside = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 2), "groups": 1}
    up = {"strides": (2, 3), "pads": (1, 0, 0, 1), "output_padding": (1, 0), "dilations": (1, 1), "groups": 1}
    options: dict[str, Any] = {"held": (1, 2), "precision": precision}
    graphs = []
    for n in (1, 17, 64):
        for format in ("Float32", "Float16_b"):
            graphs.append(graph_of("matmul", [(n, 33), (33, 17), (17,)], PLAIN, format, **options))
            graphs.append(graph_of("matmul", [(32, n), (n, 32), (32,)], PLAIN, format, **options))
        graphs.append(graph_of("matmul", [(2, n, 64), (2, 64, n)], PLAIN, **options))
        graphs.append(graph_of("matmul", [(n, 64), (64, 33)], PLAIN, "Float16_b", **{**options, "held": (1,)}))
        graphs.append(graph_of("conv2d", [(2, 7, 9, n + 1), (3, 2, n + 1, 19), (19,)], attrs, **options))
        graphs.append(graph_of("conv2d", [(1, 7, n + 3, 5), (3, 3, 5, 33), (33,)], attrs, "Float16_b", **options))
        graphs.append(graph_of("conv2d", [(1, 7, 9, 2 * n), (3, 2, 2 * n, 19), (19,)], inside, "Float16_b", **options))
        graphs.append(graph_of("conv_transpose2d", [(2, 5, 6, n), (3, 3, 4, n), (4,)], up, **options))
    found = outcomes(graphs, emulated_tiles(), at_end=at_end)
    problems = [f"{o.name}: {o.problem}" for o in found if o.problem]
    assert not problems, "\n".join(problems[:20])
    assert sum("AmxGemm" in o.kernels for o in found) == len(graphs)

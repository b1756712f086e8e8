"""Products and convolutions of scaled integers against float64, within what halves of steps allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.runtime.engines.native import in_float64
from tests.runtime.engines.native.graphs import Given, Ran, normal
from tests.runtime.engines.native.guarded import outcomes
from tests.runtime.engines.native.guarded_graphs import graph_of
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.kernels.scaled_parts import LARGEST, NORM, RUN

product = partial(in_float64.product, precision="high")
convolved = partial(in_float64.convolved, precision="high")


@pytest.fixture(scope="module", params=[("avx2", "avx2"), ("avx512", "avx512vnni")], ids=["avx2", "vnni"])
def level(request: pytest.FixtureRequest) -> str:
    """Instructions that products of 16-bit integers are made of."""
    name, feature = request.param
    if not host_cpu().has(feature):
        pytest.skip(f"needs a CPU with {feature}")
    return name


def scaled(found: Ran) -> None:
    assert not found.refusals
    assert "ScaledGemm" in found.kernels
    assert "Gemm" not in found.kernels


def allowed(a: NDArray, b: NDArray, taps: int = 1) -> NDArray:
    """What a product a[..., rows, depth] b[depth, columns] may be off: halves of the steps of both, and float32's rounding."""
    rows, columns = _runs(a, taps), _runs(b.T, taps)
    steps, sizes = ([measure(x) for x in (rows, columns)] for measure in (_steps, lambda x: np.abs(x).sum(-1)))
    halves = steps[0] @ sizes[1].T + sizes[0] @ steps[1].T + RUN / 2 * (steps[0] @ steps[1].T)
    return halves / 2 * (1 + 1e-3) + 1e-5 * (np.abs(a).astype(np.float64) @ np.abs(b))


def _runs(x: NDArray, taps: int) -> NDArray:
    """[..., rows, runs, RUN], zeros behind each tap's channels."""
    x = x.astype(np.float64).reshape(*x.shape[:-1], taps, -1)
    spare = -x.shape[-1] % RUN
    x = np.concatenate([x, np.zeros((*x.shape[:-1], spare))], -1)
    return x.reshape(*x.shape[:-2], -1, RUN)


def _steps(runs: NDArray) -> NDArray:
    return np.maximum(np.sqrt((runs**2).sum(-1)) / NORM, np.abs(runs).max(-1) / LARGEST)


def close(found: Ran, a: NDArray, b: NDArray) -> None:
    scaled(found)
    assert (np.abs(found.native - a.astype(np.float64) @ b) <= allowed(a, b)).all()


@settings(max_examples=30)
@given(
    m=st.sampled_from((1, 2, 5, 6, 7, 15, 17, 33)),
    k=st.sampled_from((128, 129, 191, 193, 257)),
    n=st.sampled_from((128, 129, 131, 149)),
    flags=st.integers(0, 3),
    precision=st.sampled_from(("high", "bfloat16")),
)
def test_odd_shapes(level: str, m: int, k: int, n: int, flags: int, precision: str) -> None:
    a, b = normal(m, k), normal(k, n)
    precision = "high" if host_cpu().limited_to(level).multiplies_pairs else precision  # which has bfloat16 itself
    left, right = (a.T.copy() if flags & 1 else a), (b.T.copy() if flags & 2 else b)
    close(product(left, right, precision=precision, transpose_a=bool(flags & 1), transpose_b=bool(flags & 2), level=level), a, b)


def test_errors_are_a_few_steps_of_2_to_the_minus_15(level: str) -> None:
    a, b = normal(96, 768), normal(768, 160)
    found = product(a, b, level=level)
    close(found, a, b)
    expected = a.astype(np.float64) @ b
    share = np.linalg.norm(found.native - expected) / np.linalg.norm(expected)
    assert 2.0**-16 < share < 2.0**-13


def test_threads_change_nothing(level: str) -> None:
    a, b = normal(300, 257), normal(257, 331)
    alone, together = (product(a, b, threads=threads, level=level).native for threads in (1, 3))
    close(product(a, b, level=level), a, b)
    np.testing.assert_array_equal(alone, together)


def test_sums_of_equal_numbers_stay_within_32_bits(level: str) -> None:
    for value in (1.0, -3.0):
        a, b = np.full((7, 256), value, np.float32), np.full((256, 128), -value, np.float32)
        close(product(a, b, level=level), a, b)
    a, b = np.zeros((7, 256), np.float32), np.zeros((256, 128), np.float32)
    a[:, ::64], b[::64] = 5, 7  # one number is the whole norm of its run
    close(product(a, b, level=level), a, b)


@pytest.mark.parametrize(("a", "b"), [((3, 5, 130), (130, 129)), ((2, 1, 5, 130), (1, 130, 129))])
def test_batches(level: str, a: Sequence[int], b: Sequence[int]) -> None:
    x, y = normal(*a), normal(*b)
    close(product(x, y, level=level), x, y.reshape(y.shape[-2:]))


def test_what_is_left_to_float32(level: str) -> None:
    for a, b in [((5, 127), (127, 256)), ((5, 256), (256, 127)), ((2, 5, 130), (2, 130, 129))]:
        found = product(normal(*a), normal(*b), level=level)
        assert "ScaledGemm" not in found.kernels
    assert "ScaledGemm" not in product(normal(5, 130), normal(130, 130), precision="float32", level=level).kernels
    assert "ScaledGemm" not in product(normal(5, 130), normal(130, 130), level="generic").kernels


@pytest.mark.parametrize("format", ["Float32", "Float16_b", "Half"])
def test_regions(level: str, format: str) -> None:
    a, b, bias = normal(45, 130), normal(130, 140), normal(140)
    found = product(a, b, Given(bias, constant=True), format=format, activation="relu", level=level)
    scaled(found)
    found.close(2.0**-12 if format == "Float32" else 2.0**-7)


# ---- numbers that cannot be scaled -----------------------------------------------------------------------------------------------------


def test_wild_rows_are_computed_in_float32(level: str) -> None:
    a, b = normal(40, 131), normal(131, 129)
    a[1, 3], a[2, 5], a[3, 7], a[4], a[5], a[6, 130] = np.inf, np.nan, 3.4028e38, 1e-40, 0, -np.inf
    a[7], a[8] = a[7] * np.float32(1e-25), a[8] * np.float32(1e25)
    found = product(a, b, level=level)
    scaled(found)
    expected = in_float64.multiplied(a, b)
    in_float64.strange_alike(found.native, expected)
    assert np.abs(found.native[4]).max() > 1e-40
    np.testing.assert_allclose(found.native[4], expected[4], rtol=0, atol=2e-43)
    assert (found.native[5] == 0).all()
    tame = [0, *range(7, 40)]
    assert (np.abs(found.native[tame] - expected[tame].astype(np.float64)) <= allowed(a[tame], b)).all()


def test_wild_columns_are_computed_in_float32(level: str) -> None:
    a, b = normal(40, 131), normal(131, 140)
    b[2, 3], b[4, 5], b[6, 8], b[:, 9], b[:, 10] = np.inf, np.nan, -3.4028e38, 1e-39, 0
    b[:, 11] *= np.float32(1e-20)
    found = product(a, b, level=level)
    scaled(found)
    expected = in_float64.multiplied(a, b)
    in_float64.strange_alike(found.native, expected)
    np.testing.assert_allclose(found.native[:, 9], expected[:, 9], rtol=0, atol=4e-42)  # the rows are scaled still
    tame = np.delete(np.arange(140), [3, 5, 8, 9])
    assert (np.abs(found.native[:, tame] - expected[:, tame].astype(np.float64)) <= allowed(a, b[:, tame])).all()


@pytest.mark.parametrize("scale", [2.0**-90, 2.0**-20, 2.0**30, 2.0**90])
def test_magnitudes_within_bounds_lose_nothing(level: str, scale: float) -> None:
    a, b = normal(33, 192) * np.float32(scale), normal(192, 133) * np.float32(2.0**-20)
    close(product(a, b, level=level), a, b)


# ---- convolutions ----------------------------------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(
    size=st.tuples(*[st.sampled_from((1, 3, 6, 15))] * 2),
    channels=st.tuples(st.sampled_from((128, 131, 150)), st.sampled_from((128, 133))),
    taps=st.tuples(*[st.integers(1, 3)] * 2).filter(lambda taps: taps != (3, 3)),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    moves=st.tuples(*[st.integers(1, 2)] * 4),
)
def test_odd_windows(
    level: str, size: tuple[int, int], channels: tuple[int, int], taps: tuple[int, int], pads: tuple[int, ...], moves: tuple[int, ...]
) -> None:
    strides, dilations = moves[:2], moves[2:]
    reach = [(k - 1) * d + 1 for k, d in zip(taps, dilations, strict=True)]
    x, w = normal(2, max(size[0], reach[0]), max(size[1], reach[1]), channels[0]), normal(*taps, *channels)
    found, expected = convolved(x, w, strides=strides, pads=pads, dilations=dilations, level=level)
    if "ShiftedSums" not in found.kernels:  # windows with few results have a way of their own
        scaled(found)
    assert np.linalg.norm(found.native - expected) <= 2.0**-13 * np.linalg.norm(expected)


def test_windows_with_a_region(level: str) -> None:
    x, w, bias = normal(1, 17, 15, 128), normal(3, 3, 128, 37), Given(normal(37), constant=True)
    found, expected = convolved(x, w, bias, strides=(2, 2), pads=(1, 1, 1, 1), activation="relu", level=level)
    scaled(found)
    assert np.linalg.norm(found.native - expected) <= 2.0**-13 * np.linalg.norm(expected)


@pytest.mark.parametrize("value", [np.inf, np.nan, 3.4e38])
def test_wild_pixels_reach_what_their_windows_reach(level: str, value: float) -> None:
    x, w = normal(1, 14, 14, 128), normal(3, 3, 128, 20)
    x[0, 5, 6, 3], x[0, 0, 0, 0] = value, -value
    found, expected = convolved(x, w, strides=(2, 2), pads=(1, 1, 1, 1), level=level)
    scaled(found)
    in_float64.close_where_tame(found.native, expected, 34 * 2.0**-11, least=800)


# ---- memory ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
def test_kernels_stay_inside(level: str, at_end: bool) -> None:
    attrs = {"strides": (1, 2), "pads": (1, 0, 2, 1), "dilations": (1, 1), "groups": 1}
    plain = {"transpose_a": False, "transpose_b": False}
    options: dict[str, Any] = {"held": (1, 2), "precision": "high"}
    graphs = []
    for n in (1, 17, 33):
        for format in ("Float32", "Float16_b", "Half"):
            graphs.append(graph_of("matmul", [(n, 131), (131, 150), (150,)], plain, format, **options))
        graphs.append(graph_of("matmul", [(n, 192), (129, 192), (129,)], {**plain, "transpose_b": True}, **options))
        graphs.append(graph_of("conv2d", [(2, 7, n, 128), (3, 2, 128, 130), (130,)], attrs, **options))
        graphs.append(graph_of("conv2d", [(1, 5, n, 130), (1, 1, 130, 128), (128,)], attrs, **options))
    found = outcomes(
        [replace(graph, tolerance=max(graph.tolerance, 1e-3)) for graph in graphs], host_cpu().limited_to(level), at_end=at_end
    )
    problems = [f"{o.name}: {o.problem}" for o in found if o.problem]
    assert not problems, "\n".join(problems[:20])
    assert sum("ScaledGemm" in o.kernels for o in found) == len(graphs)

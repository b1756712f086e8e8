"""Convolutions against their numpy kernels in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests import sums
from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from tests.runtime.engines.native.in_float64 import convolution, convolved
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.interpret import kernel

LEVELS = ("amx", "avx2", "generic")


def narrowed(x: NDArray) -> NDArray:
    """Rounded to bfloat16, in float32."""
    return (x.astype(np.float32).view(np.uint32) + 0x8000 & 0xFFFF0000).view(np.float32)


def close(found: Ran, expected: NDArray, *kernels: str, share: float = 1e-6) -> None:
    """share: of the sum of magnitudes, which large tiles may be off."""
    assert not found.refusals
    for name in kernels:
        assert name in found.kernels
    found.close(share, expected)


@settings(max_examples=16)
@given(
    size=st.tuples(*[st.sampled_from((1, 2, 3, 15, 17))] * 2),
    channels=st.tuples(*[st.sampled_from((1, 3, 16, 33))] * 2),
    taps=st.tuples(*[st.integers(1, 3)] * 2),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    moves=st.tuples(*[st.integers(1, 2)] * 4),
)
def test_odd_shapes(
    size: tuple[int, int],
    channels: tuple[int, int],
    taps: tuple[int, int],
    pads: tuple[int, int, int, int],
    moves: tuple[int, int, int, int],
) -> None:
    strides, dilations = moves[:2], moves[2:]
    reach = [(k - 1) * d + 1 for k, d in zip(taps, dilations, strict=True)]
    size = (max(size[0], reach[0]), max(size[1], reach[1]))
    x, w = normal(2, *size, channels[0]), normal(*taps, *channels)
    found, expected = convolved(x, w, strides=strides, pads=pads, dilations=dilations)
    close(found, expected)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("channels", "taps", "stride"), [(3, 7, 2), (33, 1, 1), (20, 1, 2), (18, 3, 2), (2, 3, 1)])
def test_instruction_sets(level: str, channels: int, taps: int, stride: int) -> None:
    x, w, bias = normal(1, 17, 15, channels), normal(taps, taps, channels, 35), normal(35)
    pad = taps // 2
    found, expected = convolved(x, w, Given(bias, constant=True), level=level, strides=(stride, stride), pads=(pad,) * 4, activation="relu")
    close(found, expected, "Gemm")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("channels", [9, 600])
def test_taps_far_apart(channels: int, level: str) -> None:
    x, w = normal(2, 9, 14, channels), normal(3, 3, channels, 20)
    found, expected = convolved(x, w, pads=(8, 13, 8, 13), dilations=(8, 13), level=level)
    close(found, expected, "Gemm")


def test_taps_that_no_window_meets_are_passed_over() -> None:
    x, w = normal(1, 9, 14, 9), normal(3, 3, 9, 20)
    inner, expected = convolved(x, w[1:2, 1:2])
    w[[0, 0, 0, 1, 1, 2, 2, 2], [0, 1, 2, 0, 2, 0, 1, 2]] = np.inf  # times the zeros of the margins, they would give NaN
    with np.errstate(invalid="ignore"):
        found, _ = convolved(x, w, pads=(9, 14, 9, 14), dilations=(9, 14))
    assert "Gemm" in found.kernels
    sums.close(found.native, expected, inner.on_magnitudes(), 1e-6)


@pytest.mark.parametrize("groups", [2, 3])
def test_groups(groups: int) -> None:
    x, w = normal(2, 9, 8, 6 * groups), normal(3, 3, 6, 17 * groups)
    found, expected = convolved(x, w, Given(normal(17 * groups), constant=True), groups=groups, pads=(1, 1, 1, 1))
    close(found, expected, "Gemm")


def test_one_channel_a_group_is_no_product() -> None:
    x, w = normal(1, 9, 9, 20), normal(3, 3, 1, 20)
    found, expected = convolved(x, w, groups=20, pads=(1, 1, 1, 1))
    assert "Gemm" not in found.kernels
    close(found, expected)


@pytest.mark.parametrize("constant", [False, True])
def test_a_filter_that_is_computed_is_packed_at_each_run(constant: bool) -> None:
    x, w = normal(1, 12, 12, 16), normal(3, 3, 16, 16)
    found, expected = convolved(x, w, constant=constant, strides=(2, 2))
    close(found, expected, "PackRows")
    assert ("PackRows" in found.each_run) == (not constant)


@pytest.mark.parametrize(
    ("strides", "dilations", "pads"), [((1, 1), (1, 1), (1, 1, 1, 1)), ((2, 3), (2, 1), (0, 2, 3, 0)), ((2, 2), (1, 1), (0,) * 4)]
)
@pytest.mark.parametrize("channels", [2, 3, 5])
def test_windows_of_few_channels_lie_in_a_frame(channels: int, strides: tuple[int, ...], dilations: tuple[int, ...], pads: tuple[int, ...]):
    x, w, bias = normal(2, 17, 15, channels), normal(3, 3, channels, 35), normal(35)
    moves = {"strides": strides, "dilations": dilations, "pads": pads}
    found, expected = convolved(x, w, Given(bias, constant=True), level="avx2", after="relu", **moves)
    close(found, np.maximum(expected, 0), "Gemm")


@pytest.mark.parametrize("format", ["Float32", "Float16_b"])
@pytest.mark.parametrize(("channels", "taps"), [(3, 7), (1, 3), (32, 3), (33, 3), (64, 1)])
def test_precision_bfloat16(format: str, channels: int, taps: int) -> None:
    x, w = normal(1, 17, 15, channels), normal(taps, taps, channels, 35)
    found, expected = convolved(x, w, pads=(taps // 2,) * 4, strides=(2, 2), format=format, precision="bfloat16")
    assert not found.refusals
    assert np.linalg.norm(found.native - expected) < 6e-3 * np.linalg.norm(expected)


@pytest.mark.parametrize("channels", [5, 8])
@pytest.mark.parametrize(
    ("strides", "dilations", "pads"),
    [
        ((1, 1), (2, 2), (1, 1, 1, 1)),
        ((1, 2), (1, 3), (0, 4, 0, 2)),
        ((2, 2), (3, 4), (2, 0, 1, 5)),
        ((1, 3), (2, 2), (0, 0, 0, 0)),
        ((1, 1), (1, 5), (0, 30, 0, 30)),
    ],
)
def test_windows_with_gaps_over_few_channels_are_runs_in_each_phase(
    channels: int, strides: tuple[int, ...], dilations: tuple[int, ...], pads: tuple[int, ...]
) -> None:
    x, w = normal(20, 12, 31, channels), normal(3, 5, channels, 17)
    moves = {"strides": strides, "dilations": dilations, "pads": pads}
    found, expected = convolved(x, w, **moves, precision="bfloat16", level="amx")
    close(found, expected, "AmxGemm", share=1e-2)
    exact, expected = convolved(narrowed(x), narrowed(w), **moves, precision="bfloat16", level="amx")
    close(exact, expected, "AmxGemm")


@pytest.mark.parametrize("residual", [(1, 9, 8, 20), (1, 9, 8, 1), (9, 1, 1), (20,)])
@pytest.mark.parametrize("channels", [5, 16])
def test_a_residual_is_added_before_the_result_is_stored(residual: tuple[int, ...], channels: int) -> None:
    x, w, other = normal(1, 9, 8, channels), normal(3, 3, channels, 20), normal(*residual)
    type_ = TensorType((1, 9, 8, 20), "Float32")
    attrs = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": 1}
    works = [Work("tile.conv2d", (0, 1), attrs, (type_,)), Work("tile.map", (2, 3), {"fn": "add"}, (type_,))]
    found = ran(works, [Given(x), Given(w, constant=True), Given(other)])
    assert found.kernels[-1] == ("Winograd" if channels == 16 else "Gemm")
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-4, atol=1e-4)


def test_a_residual_that_is_held_wider_than_its_format_is_read_as_it_lies() -> None:
    shape = (1, 9, 8, 20)
    narrow, wide = TensorType(shape, "Float16_b"), TensorType(shape, "Float32")
    attrs = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "groups": 1}
    works = [
        Work("tile.conv2d", (0, 1), attrs, (wide,)),
        Work("tile.conv2d", (0, 2), attrs, (narrow,)),
        Work("tile.map", (4, 3), {"fn": "add"}, (narrow,)),
    ]
    x = normal(1, 9, 8, 16)
    found = ran(works, [Given(x), Given(normal(1, 1, 16, 20), constant=True), Given(normal(1, 1, 16, 20), constant=True)])
    np.testing.assert_allclose(found.native, found.reference, rtol=2e-2, atol=2e-2)


# ---- Winograd's way -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["amx", "avx2"])
@pytest.mark.parametrize(("size", "channels", "outputs"), [((8, 8), 16, 16), ((15, 17), 32, 33), ((31, 9), 48, 130)])
@pytest.mark.parametrize("pads", [(1, 1, 1, 1), (0, 2, 1, 0)])
def test_tiles(level: str, size: tuple[int, int], channels: int, outputs: int, pads: tuple[int, ...]) -> None:
    x, w, bias = normal(2, *size, channels), normal(3, 3, channels, outputs), normal(outputs)
    found, expected = convolved(x, w, Given(bias, constant=True), level=level, pads=pads, after="relu")
    close(found, np.maximum(expected, 0), "Winograd", share=1e-6)


@pytest.mark.parametrize(("precision", "size"), [("float32", 2), ("high", 4)])
def test_images_that_are_smaller_than_a_patch_end_where_they_end(precision: str, size: int) -> None:
    x, w = normal(2, size, 24, 32), normal(3, 3, 32, 32)
    found, expected = convolved(x, w, pads=(0, 1, 2, 1), level="avx2", precision=precision)
    close(found, expected, "Winograd", share=4e-6)


@pytest.mark.parametrize("precision", ["float32", "high"])
@pytest.mark.parametrize(("count", "size", "channels"), [(1, 4, 112), (3, 7, 96), (2, 9, 64)])
def test_patches_are_prepared_where_tasks_share_them(precision: str, count: int, size: int, channels: int) -> None:
    x, w = normal(count, size, size, channels), normal(3, 3, channels, 70)
    found, expected = convolved(x, w, pads=(1, 1, 1, 1), level="avx2", precision=precision)
    close(found, expected, "WinogradFilter", "WinogradPatches", "Winograd", share=1e-6 if precision == "float32" else 4e-6)


def test_large_tiles_are_no_gain_where_a_filter_is_most_of_the_work() -> None:
    x, w = normal(1, 7, 7, 64), normal(3, 3, 64, 64)
    found = [convolved(x, w, pads=(1, 1, 1, 1), level="avx2", precision=precision)[0] for precision in ("float32", "high")]
    np.testing.assert_array_equal(found[0].native, found[1].native)


@pytest.mark.parametrize("level", ["avx512", "avx2"])
def test_precision_high_takes_larger_tiles(level: str) -> None:
    x, w = normal(1, 33, 32, 32), normal(3, 3, 32, 40)
    high, expected = convolved(x, w, pads=(1, 1, 1, 1), precision="high", level=level)
    close(high, expected, "Winograd", share=4e-6)
    usual = convolved(x, w, pads=(1, 1, 1, 1), level=level)[0]
    assert np.abs(usual.native - expected).max() < np.abs(high.native - expected).max()


@pytest.mark.parametrize("format", ["Float16_b", "Half"])
@pytest.mark.parametrize("level", ["amx", "avx2"])
def test_tiles_of_narrow_images(level: str, format: str) -> None:
    x, w = (a.astype(np.float16).astype(np.float32) for a in (normal(2, 15, 17, 32), normal(3, 3, 32, 33)))
    x, w = (narrowed(x), narrowed(w)) if format == "Float16_b" else (x, w)
    x[1, 3, 4, 5] = np.inf
    found, expected = convolved(x, w, pads=(1, 1, 1, 1), level=level, format=format)
    assert "CopyRows" not in found.kernels
    assert "Winograd" in found.kernels
    np.testing.assert_array_equal(np.isfinite(found.native), np.isfinite(expected))
    tame = np.isfinite(expected)
    np.testing.assert_allclose(found.native[tame], expected[tame], rtol=2.0**-8 if format == "Float16_b" else 2.0**-10, atol=1e-3)


def test_without_products_of_pairs_bfloat16_is_multiplied_as_high() -> None:
    x, v, w = (narrowed(a) for a in (normal(1, 17, 16, 32), normal(3, 3, 32, 32), normal(3, 3, 32, 20)))
    type_, last = TensorType((1, 17, 16, 32), "Float16_b"), TensorType((1, 17, 16, 20), "Float16_b")
    attrs = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": 1}
    works = [Work("tile.conv2d", (0, 1), attrs, (type_,)), Work("tile.conv2d", (3, 2), attrs, (last,))]
    given = [Given(x), Given(v, "Float16_b", True), Given(w, "Float16_b", True)]
    found = ran(works, given, level="avx2", precision="bfloat16")
    assert [name for name in found.kernels if name != "WinogradPatches"] == ["WinogradFilter", "Winograd"] * 2
    np.testing.assert_array_equal(found.native, narrowed(found.native))
    between = np.asarray(kernel("tile.conv2d")(*(a.astype(np.float64) for a in (x, v)), **attrs))
    expected = np.asarray(kernel("tile.conv2d")(between, w.astype(np.float64), **attrs))
    assert np.linalg.norm(found.native - expected) < 2e-3 * np.linalg.norm(expected)
    assert np.linalg.norm(found.reference - expected) > np.linalg.norm(found.native - expected)


def test_wild_numbers_meet_a_filter_in_bfloat16() -> None:
    x, w = normal(1, 14, 14, 16), narrowed(normal(3, 3, 16, 16))
    x[0, 5, 6, 3] = np.inf
    attrs = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": 1}
    works = [Work("tile.conv2d", (0, 1), attrs, (TensorType((1, 14, 14, 16), "Float32"),))]
    found = ran(works, [Given(x), Given(w, "Float16_b", True)], level="avx2", precision="bfloat16")
    assert found.kernels == ("WinogradFilter", "Winograd")
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("outputs", [16, 33])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_wild_numbers_reach_what_their_windows_reach(value: float, outputs: int) -> None:
    x, w = normal(1, 14, 14, 16), normal(3, 3, 16, outputs)
    x[0, 5, 6, 3], x[0, 0, 0, 0] = value, -value
    found, expected = convolved(x, w, pads=(1, 1, 1, 1), level="avx2")
    assert found.kernels[1:] == (("Winograd",) if outputs == 16 else ("WinogradPatches", "Winograd"))
    with np.errstate(over="ignore", invalid="ignore"):
        expected = expected.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found.native), np.isnan(expected))
    calm = np.abs(expected) < 1e30
    np.testing.assert_allclose(found.native[calm], expected[calm], rtol=1e-4, atol=1e-4)
    assert calm.sum() >= expected.size - 2 * 9 * outputs


def test_a_filter_with_wild_numbers_is_summed_directly() -> None:
    x, w = normal(1, 14, 14, 16), normal(3, 3, 16, 16)
    w[1, 1, 2, 3] = np.inf
    found = convolved(x, w)[0]
    assert "Winograd" not in found.kernels
    assert np.isinf(found.native[..., 3]).all()
    assert np.isfinite(np.delete(found.native, 3, 3)).all()


def of_a_model(
    op: str, x: NDArray, w: NDArray, level: str, perm: tuple[int, ...] = (2, 3, 1, 0), pads: tuple[int, ...] = (1, 1, 1, 1)
) -> tuple[Ran, NDArray]:
    """A convolution with a filter that each run brings in, and that a model keeps in another order: [o, i, h, w] as PyTorch does."""
    attrs = {"strides": (1, 1), "pads": pads, "dilations": (1, 1), "groups": 1}
    attrs |= {"output_padding": (0, 0)} if op == "conv_transpose2d" else {}
    filters = np.ascontiguousarray(w.transpose(perm))
    expected = convolution(op, [x, filters], attrs)
    types = TensorType(filters.shape, "Float32"), TensorType(expected.shape, "Float32")
    works = [Work("tile.transpose", (1,), {"perm": perm}, types[:1]), Work(f"tile.{op}", (0, 2), attrs, types[1:])]
    return ran(works, [Given(x), Given(w)], level=level), expected


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("perm", [(2, 3, 1, 0), (1, 2, 3, 0)])
@pytest.mark.parametrize(("op", "channels", "outputs"), [("conv2d", 32, 67), ("conv2d", 112, 16), ("conv_transpose2d", 35, 48)])
def test_tiles_of_filters_that_come_in(op: str, channels: int, outputs: int, perm: tuple[int, ...], level: str) -> None:
    sizes = dict(zip(perm, (3, 3, channels, outputs), strict=True))
    x = normal(2, 9, 14, channels if op == "conv2d" else outputs)
    found, expected = of_a_model(op, x, normal(*(sizes[axis] for axis in range(4))), level, perm, (0, 2, 1, 0))
    assert ("Winograd" in found.kernels) == (level != "generic")
    close(found, expected)


@pytest.mark.parametrize("level", ["amx", "avx2"])
@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38])
def test_wild_numbers_in_a_filter_that_comes_in_reach_its_results_alone(value: float, level: str) -> None:
    x, w = normal(2, 10, 10, 16), normal(40, 16, 3, 3)
    x[1, 4, 4] = 0
    w[33, 2, 1, 1] = value
    found, expected = of_a_model("conv2d", x, w, level)
    assert "Winograd" in found.kernels
    with np.errstate(over="ignore", invalid="ignore"):
        expected = expected.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found.native), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found.native), np.isinf(expected))
    calm = np.delete(found.native, 33, 3)
    np.testing.assert_allclose(calm, np.delete(expected, 33, 3), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("level", ["avx512", "avx2"])
@pytest.mark.parametrize("perm", [(2, 3, 1, 0), (1, 2, 3, 0)])
@pytest.mark.parametrize(("op", "channels", "outputs"), [("conv2d", 144, 330), ("conv_transpose2d", 258, 80)])
@pytest.mark.parametrize("value", [None, np.inf, np.nan, 3e38])
def test_few_tiles_meet_a_filter_as_it_is_transformed(
    value: float | None, op: str, channels: int, outputs: int, perm: tuple[int, ...], level: str
) -> None:
    sizes = dict(zip(perm, (3, 3, channels, outputs), strict=True))
    x, w = normal(2, 4, 5, channels if op == "conv2d" else outputs), normal(*(sizes[axis] for axis in range(4)))
    if value is not None:
        w.transpose(perm)[(1, 1, 2, 70) if op == "conv2d" else (1, 1, 70, 2)] = value
    found, expected = of_a_model(op, x, w, level, perm)
    assert found.kernels[-1] == "Winograd"
    assert "WinogradFilter" not in found.kernels
    with np.errstate(over="ignore", invalid="ignore"):
        expected = expected.astype(np.float32)
    np.testing.assert_array_equal(np.isfinite(found.native), np.isfinite(expected))
    tame = np.isfinite(expected) & (np.abs(expected) < 1e30)
    assert tame.mean() > 0.99
    np.testing.assert_allclose(found.native[tame], expected[tame], rtol=1e-4, atol=1e-3)


# ---- transposed convolutions --------------------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(
    size=st.tuples(*[st.sampled_from((1, 3, 7))] * 2),
    channels=st.tuples(*[st.sampled_from((1, 5, 17))] * 2),
    strides=st.tuples(*[st.integers(1, 3)] * 2),
    extra=st.tuples(*[st.integers(0, 2)] * 2),
    pads=st.tuples(*[st.integers(0, 1)] * 4),
)
def test_transposed(
    size: tuple[int, int], channels: tuple[int, int], strides: tuple[int, int], extra: tuple[int, int], pads: tuple[int, int, int, int]
) -> None:
    taps = tuple(s + e for s, e in zip(strides, extra, strict=True))
    pads = pads if min(size) > 1 else (0, 0, 0, 0)
    x, w = normal(2, *size, channels[0]), normal(*taps, channels[1], channels[0])
    bias = Given(normal(channels[1]), constant=True)
    found, expected = convolved(x, w, bias, op="conv_transpose2d", strides=strides, pads=pads, output_padding=(0, 0))
    close(found, expected, "Gemm")


def test_transposed_with_output_padding_and_an_op_after_it() -> None:
    x, w = normal(1, 5, 6, 16), normal(3, 3, 9, 16)
    found, expected = convolved(x, w, op="conv_transpose2d", strides=(2, 2), pads=(1, 1, 1, 1), output_padding=(1, 1), after="relu")
    close(found, np.maximum(expected, 0), "Gemm")


@settings(max_examples=16)
@given(
    size=st.tuples(*[st.sampled_from((1, 3, 7))] * 2),
    taps=st.tuples(*[st.integers(1, 4)] * 2),
    moves=st.tuples(*[st.integers(1, 4)] * 4),
    channels=st.sampled_from(((1, 5, 3), (2, 6, 2), (3, 3, 1), (33, 33, 1), (3, 15, 17), (5, 5, 2))),
    before=st.tuples(*[st.integers(0, 1)] * 2),
)
def test_transposed_with_gaps_and_groups(
    size: tuple[int, int],
    taps: tuple[int, int],
    moves: tuple[int, int, int, int],
    channels: tuple[int, int, int],
    before: tuple[int, int],
) -> None:
    """channels: groups, of x, of the result a group."""
    strides, dilations, (groups, inputs, outputs) = moves[:2], moves[2:], channels
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(size, strides, taps, dilations, strict=True)]
    pads = (*(b if r > 1 else 0 for b, r in zip(before, reach, strict=True)), 0, 0)
    x, w = normal(2, *size, inputs), normal(*taps, outputs, inputs)
    bias = Given(normal(groups * outputs), constant=True)
    attrs = {"strides": strides, "dilations": dilations, "groups": groups, "pads": pads, "output_padding": (0, 0)}
    found, expected = convolved(x, w, bias, op="conv_transpose2d", **attrs)
    close(found, expected, "Depthwise" if groups == inputs > 1 == outputs else "Gemm")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 1)])
@pytest.mark.parametrize("channels", [48, 19])
def test_transposed_channel_by_channel(channels: int, strides: tuple[int, int], level: str) -> None:
    x, w = normal(2, 7, 9, channels), normal(5, 3, 1, channels)
    attrs = {"strides": strides, "groups": channels, "pads": (2, 1, 2, 1), "output_padding": (0, 0)}
    found, expected = convolved(x, w, op="conv_transpose2d", level=level, after="relu", **attrs)
    close(found, np.maximum(expected, 0), "Depthwise")


@pytest.mark.parametrize("level", LEVELS)
def test_results_that_no_tap_reaches_are_the_bias(level: str) -> None:
    x, w, bias = normal(1, 3, 2, 5), normal(1, 2, 7, 5), normal(7)
    attrs = {"strides": (3, 4), "dilations": (1, 2), "output_padding": (2, 1)}
    found, expected = convolved(x, w, Given(bias, constant=True), op="conv_transpose2d", level=level, **attrs)
    close(found, expected, "Gemm")
    np.testing.assert_array_equal(found.native[0, 1], np.broadcast_to(bias, found.native.shape[2:]))


# ---- several results a channel ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("channels", "times"), [(2, 2), (5, 3), (17, 2), (33, 1)])
def test_several_results_of_each_channel_by_itself(channels: int, times: int, level: str) -> None:
    x, w = normal(2, 7, 6, channels), normal(3, 2, 1, channels * times)
    bias = Given(normal(channels * times), constant=True)
    found, expected = convolved(x, w, bias, groups=channels, pads=(1, 0, 1, 1), strides=(1, 2), level=level)
    close(found, expected, "Depthwise")

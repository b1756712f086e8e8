"""Gradients of filters by Winograd's way, against convolutions in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from tests.runtime.engines.native.in_float64 import close_where_tame, convolution, strange_alike
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("avx512", "avx2", "generic")
SHARES = {"float32": 1e-6, "high": 4e-6}
"""By precision, the share of the sum of magnitudes by which a result may be off."""


def of_filter(
    images: NDArray, cotangents: NDArray, pads: tuple[int, ...] = (1, 1, 1, 1), format: str = "Float32", after: str | None = None, **options
) -> tuple[Ran, NDArray]:
    """The gradient [c, 3, 3, o] of images [n, h, w, c] and cotangents [n, y, x, o], as a network asks for it, and what it is in float64.
    after: a function that follows, on the engine alone.
    """
    x, w = images.transpose(3, 1, 2, 0), cotangents.transpose(1, 2, 0, 3)
    attrs = {"strides": (1, 1), "pads": pads, "dilations": (1, 1), "groups": 1}
    expected = convolution("conv2d", [x, w], attrs)
    type_ = TensorType(expected.shape, "Float32")
    works = [
        Work("tile.transpose", (0,), {"perm": (3, 1, 2, 0)}, (TensorType(x.shape, format),)),
        Work("tile.transpose", (1,), {"perm": (1, 2, 0, 3)}, (TensorType(w.shape, format),)),
        Work("tile.conv2d", (2, 3), attrs, (type_,)),
        *([Work("tile.map", (4,), {"fn": after}, (type_,))] if after else []),
    ]
    return ran(works, [Given(images, format), Given(cotangents, format)], **options), expected


@pytest.mark.parametrize("precision", SHARES)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("count", "size", "channels", "outputs"), [(8, (14, 14), 64, 64), (3, (9, 14), 32, 144), (40, (4, 5), 80, 16), (5, (8, 7), 144, 80)]
)
def test_sums_over_tiles(count: int, size: tuple[int, int], channels: int, outputs: int, level: str, precision: str) -> None:
    images, cotangents = normal(count, *size, channels), normal(count, *size, outputs)
    found, expected = of_filter(images, cotangents, level=level, precision=precision)
    assert ("WinogradGradient" in found.kernels) == (level != "generic")
    assert "Gemm" not in found.kernels or level == "generic"
    found.close(SHARES[precision], expected)


@settings(max_examples=16)
@given(
    count=st.sampled_from((2, 9)),
    size=st.tuples(*[st.integers(6, 11)] * 2),
    channels=st.tuples(*[st.sampled_from((16, 48, 72))] * 2),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    level=st.sampled_from(("avx512", "avx2")),
    precision=st.sampled_from(tuple(SHARES)),
)
def test_odd_borders(
    count: int, size: tuple[int, int], channels: tuple[int, int], pads: tuple[int, int, int, int], level: str, precision: str
) -> None:
    seen = [n + pads[i] + pads[i + 2] - 2 for i, n in enumerate(size)]
    found, expected = of_filter(
        normal(count, *size, channels[0]), normal(count, *seen, channels[1]), pads, level=level, precision=precision
    )
    found.close(SHARES[precision], expected)


def test_errors_are_about_those_of_direct_sums() -> None:
    images, cotangents = np.maximum(normal(8, 14, 14, 32), 0), normal(8, 14, 14, 32)
    direct = of_filter(images, cotangents, level="generic")[0].native
    found, expected = of_filter(images, cotangents)
    high = of_filter(images, cotangents, level="avx512", precision="high")[0].native
    wrong, of_direct, of_high = (np.linalg.norm(a - expected) for a in (found.native, direct, high))
    assert wrong < 2 * of_direct
    assert wrong < of_high < 6 * of_direct


@pytest.mark.parametrize("outputs", [64, 80])
def test_results_are_the_same_with_any_number_of_threads(outputs: int) -> None:
    images, cotangents = normal(4, 14, 13, 64), normal(4, 14, 13, outputs)
    one, two = (of_filter(images, cotangents, threads=threads)[0] for threads in (1, 2))
    assert "WinogradGradient" in one.kernels
    np.testing.assert_array_equal(one.native, two.native)


@pytest.mark.parametrize("format", ["Float16_b", "Half"])
@pytest.mark.parametrize("level", ["avx512", "avx2"])
def test_narrow_operands_are_read_as_they_lie(level: str, format: str) -> None:
    images, cotangents = (a.astype(np.float16).astype(np.float32) for a in (normal(4, 9, 9, 32), normal(4, 9, 9, 48)))
    if format == "Float16_b":
        images, cotangents = ((a.view(np.uint32) & 0xFFFF0000).view(np.float32) for a in (images, cotangents))
    found, expected = of_filter(images, cotangents, level=level, format=format)
    assert "WinogradGradient" in found.kernels
    found.close(1e-6, expected)


@pytest.mark.parametrize(("count", "channels"), [(2, 64), (12, 16)])
@pytest.mark.parametrize("after", ["relu", "tanh"])
def test_what_follows_is_computed_before_the_result_is_stored(count: int, channels: int, after: str) -> None:
    images, cotangents = normal(count, 9, 9, channels), normal(count, 9, 9, 144) * 1e-2
    found, expected = of_filter(images, cotangents, after=after)
    assert found.kernels[-1] == ("WinogradGradient" if channels == 64 else "Eltwise")
    expected = np.maximum(expected, 0) if after == "relu" else np.tanh(expected)
    np.testing.assert_allclose(found.native, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("level", ["avx512", "avx2"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("place", [(0, 5, 6, 3), (1, 0, 0, 0), (3, 12, 8, 20)])
@pytest.mark.parametrize("which", [0, 1])
def test_wild_numbers_reach_what_they_are_multiplied_with(which: int, place: tuple[int, ...], value: float, level: str) -> None:
    given = normal(4, 13, 9, 32), normal(4, 13, 9, 32)
    given[which][place] = value
    found, expected = of_filter(*given, level=level)
    assert "WinogradGradient" in found.kernels
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = expected.astype(np.float32)
    strange_alike(found.native, narrow)
    close_where_tame(found.native, expected, 1e-3, expected.size - 9 * 32 - 1)

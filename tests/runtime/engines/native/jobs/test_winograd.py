"""When convolutions go Winograd's way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from tests.runtime.engines.native.levels import AVX2, AVX512
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, dense
from ttc.runtime.engines.native.jobs.convolutions import WindowAxis
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.winograd import Tiling, tiling_of

PAIRS = AVX512 | {"avx512bf16"}
VNNI = AVX512 | {"avx512vnni"}


def same(size: int) -> WindowAxis:
    """Three taps, and a border of one zero."""
    return WindowAxis(size, size, 3, 1, 1, 1)


@pytest.mark.parametrize(
    ("outputs", "size", "gain"), [(2, 56, 2.25), (2, 7, 2.25 * 49 / 64), (4, 56, 4.0), (4, 14, 4 * 196 / 256), (2, 1, 9 / 16)]
)
def test_tiles_beyond_the_edge_are_counted(outputs: int, size: int, gain: float) -> None:
    tiles = -(-size // outputs)
    axes = (same(size), same(size))
    assert Tiling(outputs, tiles, tiles).gain(axes, 1, 0) == pytest.approx(gain)
    assert Tiling(outputs, tiles, tiles).gain(axes, 3, tiles**2) == pytest.approx(gain * 3 / 4)  # the filter, as long as one of the images


def outputs_of(precision: str, features: frozenset[str], channels: int, size: int) -> int:
    """Pixels along each side of a tile; 0: direct sums."""
    lowering = SimpleNamespace(cpu=Cpu("x86-64", features), node=SimpleNamespace(op=SimpleNamespace(precision=precision)))
    x = dense(PlanBuffer(size * size * channels * 4), "f32", (1, size, size, channels))
    filter = np.ones((3, 3, channels, channels), np.float32)
    w = dense(PlanBuffer(filter.nbytes, Place.CONSTANT, array=filter), "f32", filter.shape)
    tiling = tiling_of(cast("Lowering", lowering), x, w, (same(size), same(size)))
    return 0 if tiling is None else tiling.outputs


@pytest.mark.parametrize(("channels", "size", "expected"), [(128, 56, 4), (128, 28, 4), (128, 16, 4), (128, 14, 0), (64, 8, 0), (8, 56, 0)])
def test_beside_products_of_pairs_only_large_images(channels: int, size: int, expected: int) -> None:
    assert outputs_of("bfloat16", PAIRS, channels, size) == expected
    assert outputs_of("float32", PAIRS, channels, size) == (2 if channels > 8 else 0)


@pytest.mark.parametrize("features", [AVX2, VNNI], ids=["avx2", "vnni"])
def test_beside_scaled_integers_a_filter_counts(features: frozenset[str]) -> None:
    assert [outputs_of("high", features, 128, size) for size in (56, 28, 14, 7)] == [4, 4, 4, 0]
    assert [outputs_of("float32", features, 128, size) for size in (56, 28, 14, 7)] == [2, 2, 2, 2]

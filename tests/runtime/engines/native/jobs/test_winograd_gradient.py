"""When gradients of filters go Winograd's way, and how they are shared out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from tests.runtime.engines.native.levels import AVX2, AVX512
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.tensors import PlanBuffer, dense
from ttc.runtime.engines.native.jobs.convolutions import WindowAxis
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.winograd import Tiling
from ttc.runtime.engines.native.jobs.winograd_gradient import gradient_split_of, gradient_tiling_of

PAIRS = AVX512 | {"avx512bf16"}


def lowering(features: frozenset[str], precision: str = "float32") -> Lowering:
    return cast("Lowering", SimpleNamespace(cpu=Cpu("x86-64", features), node=SimpleNamespace(op=SimpleNamespace(precision=precision))))


def tiling(
    features: frozenset[str], images: int, size: int, channels: int, precision: str = "float32", axis: WindowAxis | None = None
) -> Tiling | None:
    """Return how the gradient is tiled for images with a border of one pixel, as wide as their cotangents."""
    x = dense(PlanBuffer(images * size * size * channels * 4), "f32", (channels, size, size, images))
    w = dense(x.buffer, "f32", (size, size, images, channels))
    axis = axis or WindowAxis(size, 3, size, 1, 1, 1)
    return gradient_tiling_of(lowering(features, precision), x, w, (axis, axis))


@pytest.mark.parametrize(
    ("images", "size", "channels", "taken"),
    [
        (8, 28, 64, True),
        (8, 14, 128, True),
        (8, 7, 256, True),
        (8, 4, 512, True),
        (2, 4, 512, False),
        (8, 3, 64, False),
        (8, 28, 24, False),
    ],
)
def test_few_tiles_and_parts_of_vectors_are_summed_directly(images: int, size: int, channels: int, taken: bool) -> None:
    half = -(-size // 2)
    assert tiling(AVX512, images, size, channels) == (Tiling(2, half, half) if taken else None)


def test_narrower_vectors_divide_more_channels() -> None:
    assert tiling(AVX2, 8, 28, 24) == Tiling(2, 14, 14)
    assert tiling(frozenset({"sse3"}), 8, 28, 64) is None


@pytest.mark.parametrize(("precision", "outputs"), [("float32", 2), ("high", 4), ("bfloat16", 4)])
def test_precision_decides_the_size_of_tiles(precision: str, outputs: int) -> None:
    found = tiling(AVX512, 8, 28, 64, precision)
    assert found is not None
    assert found.outputs == outputs


def test_beside_products_of_pairs_only_where_far_fewer_are_left() -> None:
    assert tiling(PAIRS, 8, 28, 64, "bfloat16") == Tiling(4, 7, 7)
    assert tiling(PAIRS, 8, 7, 256, "bfloat16") is None
    assert tiling(AVX512, 8, 7, 256, "bfloat16") == Tiling(4, 2, 2)


@pytest.mark.parametrize("change", [{"windows": 4}, {"stride": 2}, {"dilation": 2}])
def test_other_windows_are_summed_directly(change: dict[str, int]) -> None:
    axis = WindowAxis(28, 3, 28, 1, 1, 1)
    assert tiling(AVX512, 8, 28, 64, axis=axis) is not None
    assert tiling(AVX512, 8, 28, 64, axis=replace(axis, **change)) is None


@pytest.mark.parametrize("features", [AVX2, AVX512], ids=["avx2", "avx512"])
@pytest.mark.parametrize(("tiles", "rows", "columns"), [(1568, 64, 64), (392, 128, 128), (128, 256, 256), (32, 512, 512), (40, 16, 144)])
def test_all_threads_have_tasks_whose_memory_stays_near(tiles: int, rows: int, columns: int, features: frozenset[str]) -> None:
    split = gradient_split_of(lowering(features), Tiling(2, 4, 4), tiles, rows, columns)
    assert split.tasks >= (8 if tiles * rows >= 32 * 512 else 1)
    assert split.most_rows * split.row_parts >= rows
    assert split.most_panels * split.column_parts * split.block.columns >= columns
    chunk = split.most_tiles * (split.most_rows + split.most_panels * split.block.columns)
    assert 16 * 4 * (chunk + split.most_rows * split.most_panels * split.block.columns) <= 1 << 20


def test_few_channels_divide_tiles() -> None:
    assert gradient_split_of(lowering(AVX512), Tiling(2, 14, 14), 1568, 64, 64).groups == 8
    assert gradient_split_of(lowering(AVX512), Tiling(2, 14, 14), 100, 64, 64).groups == 3
    assert gradient_split_of(lowering(AVX512), Tiling(2, 4, 4), 128, 256, 256).groups == 1

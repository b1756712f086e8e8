"""Rows and panels of parts: what is in them, and which are marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import rng_of_test
from tests.runtime.engines.native.jobs.test_copies import LEVELS, Recorder, execute, view_of
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.amx_products import tile_panels, tile_rows
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.amx_pack import panel_bytes, row_bytes

WILD = [np.inf, -np.inf, np.nan, 3.4e38, 2.0**49]


class _Recorder(Recorder):
    """Whose temporaries have memory, full of ones."""

    def temp(self, shape: Sequence[int], storage: Storage) -> View:
        return view_of(np.full(shape, 0xFFFF, array_dtype(storage)), storage)


def numbers(*shape: int) -> NDArray[np.float32]:
    return rng_of_test().standard_normal(shape).astype(np.float32)


def widened(patterns: NDArray[np.uint16]) -> NDArray[np.float64]:
    return (patterns.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def made(view: View) -> NDArray[np.uint16]:
    array = view.buffer.array
    assert array is not None
    return array.view(np.uint16)


def rows_of(x: NDArray[np.float32], parts: int, level: str = "amx") -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """Marks [rows], and patterns [rows, parts, channels, filled up]."""
    recorder = _Recorder(host_cpu().limited_to(level))
    target = tile_rows(cast("Lowering", recorder), view_of(x, "f32"), parts)
    execute(recorder)
    whole = made(target).reshape(len(x), row_bytes(x.shape[1], parts) // 2)
    return np.ascontiguousarray(whole[:, :2]).view(np.uint32)[:, 0], whole[:, 32:].reshape(len(x), parts, -1)


def panels_of(b: NDArray[np.float32], taps: int, parts: int, level: str = "amx") -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """Marks [panels], and patterns [panels, taps, parts, channels, columns], both filled up."""
    recorder = _Recorder(host_cpu().limited_to(level))
    panels = tile_panels(cast("Lowering", recorder), view_of(b, "f32"), taps, parts)
    execute(recorder)
    size = panel_bytes(len(b) // taps, taps, parts) // 2
    whole = made(panels.view).reshape(-1, size)
    tiles = whole[:, 32:].reshape(len(whole), taps, -1, parts, 2, 16, 16, 2)
    found = tiles.transpose(0, 1, 3, 2, 5, 7, 4, 6)  # panel, tap, part, tile, pair, of the pair, half, column
    return np.ascontiguousarray(whole[:, :2]).view(np.uint32)[:, 0], found.reshape(len(whole), taps, parts, -1, 32)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("depth", [1, 16, 31, 33, 64])
def test_rows_are_sums_of_parts(level: str, parts: int, depth: int) -> None:
    x = numbers(5, depth)
    marks, found = rows_of(x, parts, level)
    assert not marks.any()
    sums = widened(found).sum(1)
    assert (sums[:, depth:] == 0).all()
    assert (np.abs(sums[:, :depth] - x) <= (0 if parts == 3 else 2.0**-17) * np.abs(x)).all()
    assert (np.abs(widened(found)[:, 0, :depth] - x) <= 2.0**-8 * np.abs(x)).all()


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("value", [*WILD, 1e-40])
def test_wild_rows_are_marked_and_kept(parts: int, value: float) -> None:
    x = numbers(4, 37)
    x[1, 36], x[2, 2] = value, -value
    x[3] = 0 if value != 1e-40 else value
    marks, found = rows_of(x, parts)
    if value == 1e-40:  # beside larger numbers it does not count
        assert list(marks) == [0, 0, 0, 1]
    else:
        assert list(marks) == [0, 1, 1, 0]
    for row in np.flatnonzero(marks):
        bits = found[row, 0, :37].astype(np.uint32) << 16 | found[row, 1, :37]
        np.testing.assert_array_equal(bits, x[row].view(np.uint32))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 33, 31), (1, 64, 64), (3, 7, 33), (2, 32, 5)])
def test_panels_are_sums_of_parts(level: str, parts: int, shape: tuple[int, int, int]) -> None:
    taps, depth, columns = shape
    b = numbers(taps * depth, columns)
    marks, found = panels_of(b, taps, parts, level)
    assert not marks.any()
    sums = widened(found).sum(2).transpose(1, 2, 0, 3).reshape(taps, found.shape[3], -1)
    expected = np.zeros_like(sums)
    expected[:, :depth, :columns] = b.reshape(taps, depth, columns)
    assert (np.abs(sums - expected) <= {1: 2.0**-8, 2: 2.0**-17, 3: 0}[parts] * np.abs(expected)).all()


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("value", WILD)
def test_wild_panels_are_marked_and_kept(parts: int, value: float) -> None:
    b = numbers(33, 100)
    b[32, 40] = value
    b[:, 90] = 1e-30
    b[5, 3], b[:, 7] = 1e-30, 0
    marks, found = panels_of(b, 1, parts)
    assert list(marks) == [0, 1, 1, 0]
    bits = found[1, 0, 0, :33].astype(np.uint32) << 16 | found[1, 0, 1, :33]
    np.testing.assert_array_equal(bits, np.ascontiguousarray(b[:, 32:64]).view(np.uint32))


def test_one_part_is_rounded_as_bfloat16_is() -> None:
    b = np.array([[1.00390625, 1.01171875, np.inf, np.nan, 3.4e38]], np.float32)
    marks, found = panels_of(b, 1, 1)
    assert list(marks) == [0]
    np.testing.assert_array_equal(widened(found)[0, 0, 0, 0, :5], [1, 1.015625, np.inf, np.nan, np.inf])

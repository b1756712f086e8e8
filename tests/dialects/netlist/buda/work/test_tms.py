"""Tile manipulations, each against its definition tile by tile."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.dialects.netlist.buda.work.meanings import buda, check_error, random, result, tensor, tms, work
from ttc.dialects.core.plain import interpret
from ttc.dialects.netlist.buda.form import Tm

S = 32


def copied(x: NDArray, *list_: Tm, shape: tuple[int, int, int]) -> NDArray:
    """x through TMs and a nop whose result has that many tiles."""
    return result(buda("nop", t=shape[0], mblock=shape[1:], tms=tms(i0=list_)), x)


def tile(x: NDArray, z: int, i: int, j: int) -> NDArray:
    return x[z, i * S : i * S + S, j * S : j * S + S]


def each(y: NDArray) -> list[tuple[int, int, int]]:
    return list(np.ndindex(y.shape[0], y.shape[1] // S, y.shape[2] // S))


@pytest.mark.parametrize(("dim", "shape"), [("z", (6, 2, 4)), ("r", (2, 6, 4)), ("c", (2, 2, 12))])
def test_broadcast_repeats_all(dim: str, shape: tuple[int, int, int]) -> None:
    x = random(2, 2 * S, 4 * S)
    y = copied(x, Tm("broadcast", (dim, 3)), shape=shape)
    for z, i, j in each(y):
        np.testing.assert_array_equal(tile(y, z, i, j), tile(x, z % 2, i % 2, j % 4))


def test_slices_and_stacks() -> None:
    x = random(2, 2 * S, 4 * S)
    y = copied(x, Tm("hslice", (4,)), shape=(8, 2, 1))
    for z, i, _ in each(y):
        np.testing.assert_array_equal(tile(y, z, i, 0), tile(x, z // 4, i, z % 4))
    np.testing.assert_array_equal(copied(y, Tm("hstack", (4,)), shape=(2, 2, 4)), x)
    y = copied(x, Tm("vslice", (2,)), shape=(4, 1, 4))
    for z, _, j in each(y):
        np.testing.assert_array_equal(tile(y, z, 0, j), tile(x, z // 2, z % 2, j))
    np.testing.assert_array_equal(copied(y, Tm("vstack", (2,)), shape=(2, 2, 4)), x)


def test_a_stack_of_all() -> None:
    x = random(4, S, S)
    found = work(buda("nop", mblock=(1, 4), tms=tms(i0=[Tm("hstack", (0,))])), [x])
    np.testing.assert_array_equal(interpret.run(found, [x])[0], np.concatenate(list(x), axis=1)[None])


def test_transposes_are_whole() -> None:
    x = random(2, 2 * S, 4 * S)
    np.testing.assert_array_equal(copied(x, Tm("transpose"), shape=(2, 4, 2)), x.swapaxes(1, 2))


def test_they_come_one_after_another() -> None:
    x = random(1, 2 * S, 4 * S)
    y = copied(x, Tm("vslice", (2,)), Tm("hslice", (2,)), Tm("transpose"), Tm("broadcast", ("r", 2)), shape=(4, 4, 1))
    for z, i, _ in each(y):
        np.testing.assert_array_equal(tile(y, z, i, 0), tile(x, 0, z // 2, z % 2 * 2 + i % 2).T)


def test_factors_of_one_stay() -> None:
    copied(random(2, S, S), Tm("vslice", (1,)), Tm("broadcast", ("z", 1)), Tm("broadcast", ("c", 1)), Tm("hslice", (1,)), shape=(2, 1, 1))


def test_tiles_are_dropped_before_and_added_after() -> None:
    x = random(1, 3 * S, 2 * S)
    op = buda("nop", mblock=(2, 3), unpads={0: (1, 0)}, pads={0: (0, 1, 7.0)})
    y = result(op, x)
    np.testing.assert_array_equal(y[:, :, : 2 * S], x[:, : 2 * S])
    assert (y[:, :, 2 * S :] == 7).all()
    y = copied(x, Tm("pad", (1, 0, 2.0)), Tm("vslice", (4,)), shape=(4, 1, 2))
    assert (y[3] == 2).all()


def test_small_tiles_move_whole() -> None:
    x = random(1, 2 * 16, 2 * S)
    op = buda("nop", t=2, mblock=(2, 1), tile_dim=(16, 32), tms=tms(i0=[Tm("hslice", (2,))]))
    y = result(op, x, types=[tensor(x, tile=(16, 32))])
    np.testing.assert_array_equal(y, np.stack([x[0, :, :S], x[0, :, S:]]))


@pytest.mark.parametrize(
    ("tm", "code"),
    [
        (Tm("hslice", (3,)), "E0602"),
        (Tm("vslice", (3,)), "E0602"),
        (Tm("hstack", (3,)), "E0602"),
        (Tm("vstack", (0,)), "E0602"),
        (Tm("hslice", (0,)), "E0602"),
        (Tm("broadcast", ("w", 2)), "E0602"),
        (Tm("broadcast", ("r", -1)), "E0602"),
        (Tm("broadcast", ("r", 1 << 50)), "E0602"),
        (Tm("pad", (-1, 0, 0.0)), "E0602"),
        (Tm("broadcast"), "E0602"),
        (Tm("tile_broadcast", ("z",)), "E0602"),
        (Tm("spin", (2,)), "E0503"),
    ],
)
def test_what_does_not_fit(tm: Tm, code: str) -> None:
    check_error(code, buda("nop", t=2, tms=tms(i0=[tm])), (2, S, S))


def test_more_tiles_dropped_than_there_are() -> None:
    check_error("E0602", buda("nop", unpads={0: (1, 0)}), (1, S, S))

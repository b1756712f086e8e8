"""Buffers at joins: what waits where, buffers that hold it, and what L1 lacks for it."""

from __future__ import annotations

from dataclasses import replace

from ttc.dialects.netlist.model import Buffer
from ttc.passes.tile_to_netlist.forks import ForkMember, Shortage, Wait, buffered, enlarge, held, waits

PLAIN = ForkMember((), 0.125, 8, (Buffer("out", 8, 100, 2),), 10_000)


def diamond(lag: float, free: int, cores: int = 1) -> list[ForkMember]:
    """0 feeds 1, and 1 and 0 feed 2, which reads 0 as its second operand."""
    middle = replace(PLAIN, reads=((0, 0, 8.0),), lag=lag, buffers=(Buffer("in0", 8, 100, 2), *PLAIN.buffers))
    buffers = (Buffer("in0", 8, 100, 2), Buffer("in1", 8, 100, 2), *PLAIN.buffers)
    join = replace(PLAIN, reads=((1, 0, 8.0), (0, 1, 8.0)), buffers=buffers, free_bytes=free, cores=cores)
    return [replace(PLAIN, free_bytes=0), middle, join]


def test_a_chain_waits_for_nothing() -> None:
    assert waits([PLAIN, replace(PLAIN, reads=((0, 0, 8.0),))]) == []


def test_the_shorter_path_waits_for_the_longer_one() -> None:
    assert waits(diamond(3.0, 0)) == [Wait(2, 1, 0, 8.0, 3.0)]


def test_buffers_hold_what_waits() -> None:
    """Three microbatches wait and one more is to have room: two lie in the source, two in the reader as it is; nothing is added."""
    found, short = buffered(diamond(3.0, 10_000), 1.0)
    assert (held(found[2], "in1", 8.0), short) == (2.0, [])
    found, short = buffered(diamond(6.0, 10_000), 1.0)
    assert (held(found[2], "in1", 8.0), short) == (5.0, [])
    assert held(found[2], "in0", 8.0) == 2.0


def test_what_l1_lacks_is_told_for_all_cores() -> None:
    """Of seven microbatches of 8 tiles of 100 bytes two lie in the source: the reader would have to hold five, on each of its cores."""
    found, short = buffered(diamond(6.0, 800, cores=4), 1.0)
    assert held(found[2], "in1", 8.0) == 3.0
    assert short == [Shortage(2, 5 * 8 * 100 * 4)]


def test_buffers_grow_by_whole_copies() -> None:
    buffers = [Buffer("in0", 3, 10, 1)]
    assert enlarge(buffers, "in0", 6.0, 0.75, 1000) == (1.0, 940)
    assert buffers == [Buffer("in0", 3, 10, 3)]
    assert enlarge(buffers, "in1", 6.0, 1.0, 1000) == (0.0, 1000)
    assert enlarge(buffers, "in0", 6.0, 1.0, 20) == (0.0, 20)

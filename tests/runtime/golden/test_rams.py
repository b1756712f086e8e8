"""Rams, and several views of one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.golden.netlists import flat, queue_of
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.roles import Shared
from ttc.dialects.netlist.model import Queue
from ttc.runtime.golden.rams import GoldenRam, RamPieces
from ttc.runtime.machine.limits import Limits, Meter


def memory(*views: Queue, accumulates: bool = False) -> RamPieces:
    """What the host fills with 10, 20, ... by the owner's entries."""
    return RamPieces(Shared(views, views[0], accumulates), Meter(Limits()), lambda entry: flat(10 * (entry + 1), views[0].tensor.shape[0]))


def test_entries_are_filled_when_they_are_read() -> None:
    queue = queue_of(type="ram", entries=3)
    shared = memory(queue)
    ram = GoldenRam(queue, shared)
    ram.write(0, flat(7))
    assert (ram.read(0)[0, 0, 0], ram.read(1)[0, 0, 0], shared.filled) == (7, 20, {1})
    assert {entry: float(value[0, 0, 0]) for entry, value in ram.left().items()} == {0: 7, 1: 20}


def test_accumulators_start_from_zero() -> None:
    queue = queue_of(type="ram", entries=1)
    shared = memory(queue, accumulates=True)
    assert not GoldenRam(queue, shared).read(0).any()
    assert not shared.filled


def test_views_gather_and_scatter_along_t() -> None:
    writer, reader = queue_of("writer", type="ram", entries=4), queue_of("reader", type="ram", entries=2, t=2)
    shared = memory(writer, reader)
    small, large = GoldenRam(writer, shared), GoldenRam(reader, shared)
    small.write(2, flat(1))
    small.write(3, flat(2))
    assert large.read(1)[:, 0, 0].tolist() == [1, 2]
    large.write(0, np.concatenate([flat(8), flat(9)]))
    assert [float(small.read(i)[0, 0, 0]) for i in range(4)] == [8, 9, 1, 2]


def test_what_was_written_before_the_host_fills_stays() -> None:
    owner, writer = queue_of("owner", type="ram", entries=1, t=3), queue_of("writer", type="ram", entries=3)
    shared = memory(owner, writer)
    GoldenRam(writer, shared).write(1, flat(5))
    assert GoldenRam(owner, shared).read(0)[:, 0, 0].tolist() == [10, 5, 10]


def test_views_of_different_extent() -> None:
    with pytest.raises(Error, match="(?s)E0602.*they share memory"):
        memory(queue_of("a", type="ram", entries=2), queue_of("b", type="ram", entries=2, t=2))


@pytest.mark.parametrize("pointer", [-1, 3])
def test_pointers_outside(pointer: int) -> None:
    queue = queue_of(type="ram", entries=3)
    ram = GoldenRam(queue, memory(queue))
    with pytest.raises(Error, match=f"(?s)E0804.*is read at {pointer}"):
        ram.read(pointer)
    with pytest.raises(Error, match=f"(?s)E0804.*is written at {pointer}"):
        ram.write(pointer, flat(0))


def test_pieces_replace_each_other_in_the_count() -> None:
    queue = queue_of(type="ram", entries=2)
    meter = Meter(Limits())
    ram = GoldenRam(queue, RamPieces(Shared((queue,), queue, False), meter, lambda _: flat(0)))
    for _ in range(5):
        ram.write(1, flat(1))
    assert meter.size_bytes == 4096

"""Rings whose pointers a program sets."""

from __future__ import annotations

import pytest

from tests.runtime.golden.netlists import flat, queue_of
from ttc.dialects.core.errors import Error
from ttc.runtime.golden.rings import HostRing
from ttc.runtime.machine.limits import Limits, Meter


def ring(entries: int = 2) -> HostRing:
    return HostRing(queue_of(entries=entries), Meter(Limits()))


def test_full_and_empty_differ_by_the_wrap_bit() -> None:
    q = ring(2)
    q.push(flat(0))
    q.push(flat(1))
    assert (q.read_pointer, q.write_pointer, q.occupied) == (0, 2, 2)
    with pytest.raises(Error, match="(?s)E0804.*all its 2 entries are taken"):
        q.push(flat(2))
    q.pop(2)
    assert (q.read_pointer, q.occupied) == (2, 0)
    with pytest.raises(Error, match="(?s)E0804.*holds 0 entries"):
        q.read(2)


def test_pointers_run_to_twice_the_entries() -> None:
    q = ring(2)
    for number in range(7):
        q.push(flat(number))
        assert q.read(number % 4)[0, 0, 0] == number
        q.move_to((number + 1) % 4)
    assert (q.read_pointer, q.write_pointer) == (3, 3)


def test_local_reads_ahead_of_the_global_pointer() -> None:
    q = ring(4)
    for number in range(3):
        q.push(flat(number))
    q.pop(1)
    assert [float(q.read(pointer)[0, 0, 0]) for pointer in (1, 2)] == [1, 2]
    with pytest.raises(Error, match="(?s)E0804.*read at 0, with rd_ptr_global at 1"):
        q.read(0)
    with pytest.raises(Error, match="(?s)E0804.*read at 3 while it holds 2 entries from 1"):
        q.read(3)


def test_pointers_of_programs_wrap():
    q = ring(2)
    q.push(flat(0))
    q.start_at(0)
    q.move_to(5)
    assert (q.read_pointer, q.occupied) == (1, 0)
    with pytest.raises(Error, match="(?s)E0804.*is set to -1"):
        q.start_at(-1)


def test_first_reader_after_clearing_says_which_round_it_is() -> None:
    q = ring(2)
    q.push(flat(5))
    q.start_at(2)
    assert (q.read_pointer, q.write_pointer) == (2, 3)
    assert q.read(2)[0, 0, 0] == 5
    q.clear()
    assert (q.occupied, q.left()) == (0, {})


def test_host_pushes_what_is_read():
    q = HostRing(queue_of(entries=4), Meter(Limits()), source=flat)
    assert q.read(1)[0, 0, 0] == 1
    assert q.pushed == 2
    q.move_to(2)
    assert q.read(5)[0, 0, 0] == 5
    assert q.pushed == 6
    assert q.read(6)[0, 0, 0] == 2
    q.move_to(7)
    assert (q.pushed, q.occupied) == (6, 0)


def test_the_hosts_entries_can_be_read_again_and_those_of_ops_cannot():
    q = HostRing(queue_of(entries=4), Meter(Limits()), source=flat)
    q.read(1)
    q.move_to(2)
    q.start_at(0)
    assert (q.read(1)[0, 0, 0], q.pushed) == (1, 2)
    q = ring(4)
    q.push(flat(0))
    q.move_to(1)
    q.start_at(0)
    with pytest.raises(Error, match="E0804"):
        q.read(0)


def test_host_drains_what_nobody_reads() -> None:
    taken = []
    q = HostRing(queue_of(entries=1), Meter(Limits()), drain=taken.append)
    for number in range(3):
        q.push(flat(number))
    assert [v[0, 0, 0] for v in taken] == [0, 1, 2]
    assert q.occupied == 0


def test_entries_count_against_the_memory() -> None:
    meter = Meter(Limits(size_bytes=3 * 4096))
    q = HostRing(queue_of(entries=4), meter)
    for number in range(3):
        q.push(flat(number))
    with pytest.raises(Error, match="E0805"):
        q.push(flat(3))
    q.pop(3)
    assert meter.size_bytes == 4096
    assert q.left() == {}


def test_entries_that_nobody_can_push():
    q = HostRing(queue_of(entries=1 << 40), Meter(Limits()), source=flat)
    with pytest.raises(Error, match="E0805"):
        q.read(1 << 39)
    with pytest.raises(Error, match="E0602"):
        HostRing(queue_of(entries=0), Meter(Limits()))


def test_wrong_shape() -> None:
    with pytest.raises(Error, match="E0602"):
        ring().push(flat(1, t=2))

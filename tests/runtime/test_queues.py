"""Rings and rams."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import TensorType
from ttc.dialects.netlist.model import Queue
from ttc.runtime.queues import USER, Ram, Ring


def queue(entries: int, shape: tuple[int, ...] = ()) -> Queue:
    return Queue("q", "edge", "queue", "op", TensorType(shape, "Float32"), entries, "host", 0, (1, 1), None, ((0, 0),), 4 * entries)


def entry(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def test_every_reader_gets_every_entry_and_frees_its_slot():
    ring = Ring(queue(2), ["a", "b"])
    ring.push(entry(1))
    ring.push(entry(2))
    assert [ring.pop("a"), ring.pop("a"), ring.pop("b")] == [1, 2, 1]
    ring.push(entry(3))
    with pytest.raises(Error, match="full") as failure:
        ring.push(entry(4))
    assert failure.value.code == "E0608"
    assert [ring.pop("b"), ring.pop("b"), ring.pop("a")] == [2, 3, 3]
    with pytest.raises(Error, match="'a' reads queue 'q', which is empty") as failure:
        ring.pop("a")
    assert failure.value.code == "E0608"


def test_results_are_drained():
    ring = Ring(queue(3), [USER])
    ring.push(entry(1))
    ring.push(entry(2))
    assert ring.drain() == [1, 2]
    with pytest.raises(Error, match="'the user' reads"):
        ring.drain()


def test_a_ram_keeps_its_entry():
    ram = Ram(queue(1))
    with pytest.raises(Error) as failure:
        ram.pop("a")
    assert failure.value.code == "E0608"
    ram.push(entry(1))
    ram.push(entry(2))
    assert [ram.pop("a"), ram.pop("a"), *ram.drain()] == [2, 2, 2]


def test_entries_have_the_shape_of_their_queue():
    ring = Ring(queue(9, (-1, 2)), ["a"])
    ring.push(np.zeros((5, 2), np.float32))
    for shape in ((2,), (5, 3), (1, 5, 2)):
        with pytest.raises(Error) as failure:
            ring.push(np.zeros(shape, np.float32))
        assert failure.value.code == "E0602"

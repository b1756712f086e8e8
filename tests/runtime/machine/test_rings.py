"""Rings whose readers take entries in the order of writing."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.model import Queue
from ttc.runtime.machine.limits import Limits, Meter
from ttc.runtime.machine.rings import USER, OrderedRing


def queue(entries: int, shape: tuple[int, ...] = ()) -> Queue:
    return Queue("q", "edge", "queue", "op", TensorType(shape, "Float32"), entries, "host", 0, (1, 1), None, ((0, 0),), 4 * entries)


def entry(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def ring(readers: list[str], entries: int = 2, shape: tuple[int, ...] = ()) -> OrderedRing:
    return OrderedRing(queue(entries, shape), Meter(Limits()), readers)


def test_every_reader_gets_every_entry_and_frees_its_slot():
    found = ring(["a", "b"])
    found.push(entry(1))
    found.push(entry(2))
    assert [found.take("a"), found.take("a"), found.take("b")] == [1, 2, 1]
    found.push(entry(3))
    assert not found.has_room(1)
    with pytest.raises(Error, match="all its 2 entries are taken") as failure:
        found.push(entry(4))
    assert failure.value.code == "E0804"
    assert [found.take("b"), found.take("b"), found.take("a")] == [2, 3, 3]
    assert (found.available("a"), found.free) == (0, 2)
    with pytest.raises(Error, match="'a' reads queue 'q', which is empty") as failure:
        found.take("a")
    assert failure.value.code == "E0804"


def test_the_user_reads_as_graphs_do():
    found = ring([USER])
    found.push(entry(1))
    assert (found.available(USER), found.take(USER)) == (1, 1)
    with pytest.raises(Error, match="'the user' reads"):
        found.take(USER)


def test_what_nobody_reads_is_not_kept():
    found = ring([])
    for value in range(5):
        found.push(entry(value))
    assert (found.occupied, found.has_room(9)) == (0, True)


def test_what_happened_since_a_mark_is_taken_back():
    meter = Meter(Limits())
    found = OrderedRing(queue(3), meter, ["a", "b"])
    for value in (1, 2):
        found.push(entry(value))
    found.take("a")
    undo = found.mark()
    held = meter.size_bytes
    found.push(entry(3))
    assert [found.take("b"), found.take("b"), found.take("a")] == [1, 2, 2]
    undo()
    assert (found.available("a"), found.available("b"), found.free, meter.size_bytes) == (1, 2, 1, held)
    assert [found.take("b"), found.take("a"), found.take("b")] == [1, 2, 2]
    assert meter.size_bytes == 0


def test_many_rounds(rng: np.random.Generator):
    """Pointers wrap; a list says what each reader must get."""
    found, written, read = ring(["a", "b"], 3), [], {"a": 0, "b": 0}
    for step in range(500):
        choice = rng.choice(["push", "a", "b"])
        if choice == "push" and found.has_room(1):
            found.push(entry(step))
            written.append(step)
        elif choice != "push" and read[choice] < len(written):
            assert found.take(choice) == written[read[choice]]
            read[choice] += 1
        assert found.free == 3 - (len(written) - min(read.values()))


def test_entries_have_the_shape_of_their_queue():
    found = ring(["a"], 9, (-1, 2))
    found.push(np.zeros((5, 2), np.float32))
    for shape in ((2,), (5, 3), (1, 5, 2)):
        with pytest.raises(Error) as failure:
            found.push(np.zeros(shape, np.float32))
        assert failure.value.code == "E0602"


def test_a_queue_without_entries_is_refused():
    with pytest.raises(Error) as failure:
        ring(["a"], 0)
    assert failure.value.code == "E0602"

"""Memory for values that outlive runs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.machine.test_rings import entry, queue
from ttc.dialects.core.errors import Error
from ttc.runtime.machine.variables import Ram, Variable, owned
from ttc.runtime.pages import ALIGNMENT


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def variable() -> Variable:
    return Variable("v", "Float32", np.array([1, 2, 3], np.float32))


def test_memory_is_the_variables_own_and_aligned():
    initial = np.array([1, 2, 3], np.float32)
    found = Variable("v", "Float32", initial)
    initial[:] = 9
    assert found.take("a").tolist() == [1, 2, 3]
    assert {found.value.ctypes.data % ALIGNMENT, found.spare.ctypes.data % ALIGNMENT} == {0}


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2, 3, 4)])
def test_copies_keep_shape_and_type(shape: tuple[int, ...]):
    value = np.ones(shape, np.int16)
    copy = owned(value)
    assert (copy.shape, copy.dtype, copy.flags.c_contiguous, copy.flags.writeable) == (shape, np.int16, True, True)
    assert np.array_equal(copy, value)


def test_what_is_assigned_can_be_taken_back():
    found = variable()
    undo = found.mark()
    for value in (5, 6):
        found.push(np.full((3, 1), value, np.float32))
    assert found.value.tolist() == [6, 6, 6]
    undo()
    assert found.value.tolist() == [1, 2, 3]
    undo()
    assert found.value.tolist() == [1, 2, 3]


def test_memory_does_not_grow():
    found = variable()
    places = set()
    for value in range(20):
        found.mark()
        found.push(np.full(3, value, np.float32))
        places.add(found.value.ctypes.data)
        assert found.value.tolist() == [value] * 3
    assert len(places) == 2


def test_values_are_rounded_to_the_format():
    found = Variable("v", "Float16_b", np.zeros(2, np.float32))
    found.push(np.array([1.001, 3e38 * 1.5], np.float64))
    assert found.value.tolist() == [1.0, np.inf]
    with pytest.raises(Error) as failure:
        found.push(np.zeros(3, np.float32))
    assert failure.value.code == "E0602"


def test_a_ram_keeps_its_entry():
    ram = Ram(queue(1))
    assert ram.available("a") == 0
    with pytest.raises(Error) as failure:
        ram.take("a")
    assert failure.value.code == "E0804"
    ram.push(entry(1))
    undo = ram.mark()
    ram.push(entry(2))
    assert [ram.take("a"), ram.take("a")] == [2, 2]
    undo()
    assert ram.take("a") == 1


@pytest.mark.parametrize("value", [0.0, -0.0, 2.0])
@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (4, 6)])
def test_copies_keep_every_bit(shape: tuple[int, ...], value: float):
    given = np.full((*shape, 2), value, np.float32)[..., 1]
    copy = owned(given)
    assert (copy.shape, copy.tobytes()) == (shape, given.tobytes())


def test_zeros_take_no_memory_before_they_are_written():
    size = 64 << 20
    zeros = np.zeros(size, np.uint8)  # in memory that was written before, where the allocator has some
    before = resident_bytes()
    copy = owned(zeros)
    assert resident_bytes() - before < size // 4
    copy[:] = 1
    assert resident_bytes() - before > size // 2


def test_zeros_take_no_memory_until_somebody_writes_to_them():
    zeros = np.broadcast_to(np.zeros((), np.float32), (16, 1 << 20))
    before = resident_bytes()
    variables = [Variable("v", "Float32", zeros) for _ in range(4)]
    assert resident_bytes() - before < 1 << 24
    assert not any(variable.value[::7, ::4096].any() for variable in variables)
    variables[0].value[...] = 1
    assert resident_bytes() - before > 1 << 25


def test_one_number_for_all_elements_is_copied_as_any_value():
    found = owned(np.broadcast_to(np.float32(-0.0), (2, 3)))
    assert np.signbit(found).all()
    assert owned(np.broadcast_to(np.int16(0), (2, 3))).tolist() == [[0] * 3] * 2

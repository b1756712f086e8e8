"""Memory of large results: nobody's who still looks at it, and used again once nobody does."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.programs import Step, executors, tensor
from ttc.runtime.engines.result_memory import LARGE_BYTES, ResultMemory, has_own_memory
from ttc.runtime.executor import Executor
from ttc.runtime.pages import aligned_bytes

FLOAT = np.dtype(np.float32)
LARGE = LARGE_BYTES // 4
RUNS = 100
INPUTS = {"large": (2, LARGE), "small": (2, 1)}
"""Shapes of an input that is bound at each run, and of one that a prepared call copies; the result is large."""


def negated(columns: int = LARGE) -> Executor:
    """A program that gives -x in LARGE columns, of x with as many or with one."""
    held = {"zero": (np.zeros((2, LARGE), np.float32), "Float32")}
    steps = [Step("y", "tile.map", ("zero", "x"), tensor(2, LARGE), {"fn": "sub"})]
    return executors({"x": tensor(2, columns)}, held, steps, {"y.out": "y"})[0]


def run(executor: Executor, shape: tuple[int, ...], number: float) -> NDArray:
    return executor.run({"x": np.full(shape, number, np.float32)})["y.out"]


def memory(*counts: int) -> ResultMemory:
    return ResultMemory([count * 4 for count in counts], aligned_bytes)


def of_torch(array: NDArray) -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    return torch.from_numpy(array).view(torch.int32)[1:].view(torch.float32)


HOLDERS: dict[str, Callable[[NDArray], Any]] = {
    "array": lambda array: array,
    "view": lambda array: array[1:, ::2].T,
    "view as other type": lambda array: array.view(np.int32)[1:].view(np.float32),
    "memoryview": lambda array: memoryview(array)[1:],
    "buffer of the base": lambda array: np.frombuffer(memoryview(array.base), np.float32),
    "dlpack": np.from_dlpack,
    "torch": of_torch,
}


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_held_keeps_its_values(holder: str, given: str):
    executor, shape = negated(INPUTS[given][1]), INPUTS[given]
    held = HOLDERS[holder](run(executor, shape, 7))
    for number in range(RUNS):
        assert run(executor, shape, number)[-1, -1] == -number
    values = np.asarray(held)
    assert values.size >= LARGE // 2
    assert (values == -7).all()


@pytest.mark.parametrize("given", INPUTS)
def test_memory_that_nobody_refers_to_is_used_again(given: str):
    executor, shape = negated(INPUTS[given][1]), INPUTS[given]
    addresses: set[int] = set()
    for number in range(RUNS):
        y = run(executor, shape, number)
        assert y.ctypes.data % 64 == 0
        assert y.flags.writeable
        assert y.flags.c_contiguous
        addresses.add(y.ctypes.data)
    assert len(addresses) == 2  # a result is asked for while the one before has its name yet


def test_results_that_are_copied_use_memory_again():
    type_ = tensor(2, LARGE)
    executor, _ = executors({"x": type_}, {}, [Step("y", "tile.map", ("x",), type_, {"fn": "neg"})], {"a": "y", "b": "y"})
    x = np.ones((2, LARGE), np.float32)
    held = executor.run({"x": x})
    addresses: set[int] = set()
    for _ in range(RUNS):
        found = executor.run({"x": 2 * x})
        assert not np.shares_memory(found["a"], found["b"])
        addresses |= {array.ctypes.data for array in found.values()}
    assert len(addresses) <= 4
    assert all((array == -1).all() for array in held.values())


def test_a_writer_that_holds_one_changes_no_other():
    executor = negated()
    first = run(executor, (2, LARGE), 1)
    first.flags.writeable = False
    first.flags.writeable = True
    first[...] = 5
    assert (run(executor, (2, LARGE), 2) == -2).all()
    assert (first == 5).all()


def test_a_result_may_be_the_next_input():
    executor = negated()
    y = np.ones((2, LARGE), np.float32)
    for number in range(1, 8):
        y = executor.run({"x": y})["y.out"]
        assert (y == (-1) ** number).all()


def test_threads_keep_their_own():
    executor = negated()

    def runs(number: int) -> bool:
        held = [run(executor, (2, LARGE), number) for _ in range(3)]
        for _ in range(RUNS // 2):
            held[1:] = [*held[2:], run(executor, (2, LARGE), number)]
        return all((y == -number).all() for y in held)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(runs, range(1, 9)))


def test_what_waits_is_bounded():
    lends = memory(LARGE, LARGE, 3 * LARGE, 10)
    held = [lends.array((count,), FLOAT) for _ in range(10) for count in (LARGE, 3 * LARGE, LARGE)]
    assert lends.waiting_bytes == 0
    held.clear()
    assert lends.waiting_bytes == 2 * (2 + 3) * LARGE_BYTES


def test_small_and_unknown_sizes_are_as_ever():
    lends = memory(LARGE, 10, 0)
    for count in (10, 0, LARGE - 1, LARGE + 1):
        assert lends.array((count,), FLOAT).flags.owndata
    assert lends.waiting_bytes == 0
    value = np.arange(10, dtype=np.float32)
    assert lends.copier(value)().flags.owndata


def test_memory_goes_with_the_one_who_lends_it():
    blocks: list[weakref.ref[NDArray]] = []

    def allocate(count: int) -> NDArray[np.uint8]:
        block = np.zeros(count, np.uint8)
        blocks.append(weakref.ref(block))
        return block

    lends = ResultMemory([LARGE_BYTES], allocate)
    kept, dropped = lends.array((LARGE,), FLOAT), lends.array((LARGE,), FLOAT)
    del dropped
    del lends
    assert [block() is None for block in blocks] == [False, True]
    kept[...] = 3
    assert (kept == 3).all()
    del kept
    assert [block() is None for block in blocks] == [True, True]


@pytest.mark.parametrize("place", [0, LARGE])
def test_only_the_array_that_was_given_out_has_its_own_memory(place: int):
    array = memory(LARGE).array((LARGE,), FLOAT)
    assert has_own_memory(array)
    assert not has_own_memory(array[: LARGE - place])
    assert not has_own_memory(array.view(np.int32))
    assert has_own_memory(array.copy())
    assert not has_own_memory(np.frombuffer(bytearray(8), np.uint8))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_fork_shares_nothing():
    lends = memory(LARGE)
    held, waiting = lends.array((LARGE,), FLOAT), lends.array((LARGE,), FLOAT)
    held[...], waiting[...] = 1, 2
    address = waiting.ctypes.data
    del waiting
    child = os.fork()
    if child == 0:
        fresh = lends.array((LARGE,), FLOAT)
        good = lends.waiting_bytes == 0 and not fresh.any() and bool((held == 1).all())
        fresh[...] = held[...] = 9
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    again = lends.array((LARGE,), FLOAT)
    assert again.ctypes.data == address
    assert (again == 2).all()
    assert (held == 1).all()

"""Copies of views against numpy's, between memory that must not be touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ttc.runtime.engines.native.codegen.code import Code, Signature, compiled
from ttc.runtime.engines.native.codegen.features import Cpu, host_cpu
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype
from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View, dense, dense_strides
from ttc.runtime.engines.native.jobs.copies import copy, fill, pad
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.kernel import JobKernel, Kernel
from ttc.runtime.engines.native.kernels.words import words_of

LEVELS = ("amx", "avx2", "generic")
GUARD = 32
"""Elements in front of a target and behind it."""


class Recorder:
    """What `copy` needs of a lowering: it collects jobs."""

    def __init__(self, cpu: Cpu) -> None:
        self.cpu = cpu
        self.jobs: list[tuple[Kernel, Sequence[Any], int]] = []

    def job(self, kernel: JobKernel, words: Mapping[str, Any], *, tasks: int, **_: Any) -> None:
        self.jobs.append((kernel, words_of(kernel.names, words), tasks))


def view_of(array: NDArray, storage: Storage) -> View:
    return dense(PlanBuffer(array.nbytes, array=array), storage, array.shape)


def shown(view: View, array: NDArray) -> NDArray:
    flat = array.reshape(-1)[view.offset :]
    return np.lib.stride_tricks.as_strided(flat, view.shape, [stride * array.itemsize for stride in view.strides])


def moved(source: View, target_storage: Storage, level: str) -> tuple[NDArray, str]:
    """What a copy makes of a view, and the kernel's name."""
    dtype = array_dtype(target_storage)
    memory = np.full(source.elements + 2 * GUARD, 77, dtype)
    target = View(PlanBuffer(memory.nbytes, array=memory), target_storage, source.shape, dense_strides(source.shape), GUARD)
    cpu = host_cpu().limited_to(level)
    recorder = Recorder(cpu)
    copy(cast("Lowering", recorder), source, target)
    execute(recorder)
    assert (memory[:GUARD] == 77).all()
    assert (memory[-GUARD:] == 77).all()
    return memory[GUARD:-GUARD].reshape(source.shape), type(recorder.jobs[0][0]).__name__


def execute(recorder: Recorder) -> None:
    for kernel, words, tasks in recorder.jobs:
        numbers = [_address(word) if isinstance(word, View) else int(word) for word in words]
        Signature(_code(kernel, recorder.cpu).address(kernel))(np.array(numbers, np.int64).ctypes.data, 0, tasks, None)


@cache
def _code(kernel: Kernel, cpu: Cpu) -> Code:
    return compiled([kernel], cpu)


def _address(view: View) -> int:
    if view.buffer.array is None:  # memory between two jobs
        view.buffer.array = np.full(view.buffer.size_bytes, 77, np.uint8)
    return view.buffer.array.ctypes.data + view.offset * view.item_bytes


CASES = {
    "rows": ((5, 7, 33), (0, 1, 2), "CopyRows"),
    "heads": ((1, 12, 5, 64), (0, 2, 1, 3), "CopyRows"),
    "planes to pixels": ((1, 3, 50, 41), (0, 2, 3, 1), "Interleave"),
    "pixels to planes": ((1, 50, 41, 2), (0, 3, 1, 2), "Separate"),
    "squares": ((37, 65), (1, 0), "Transpose"),
    "squares in a batch": ((2, 37, 3, 65), (2, 0, 3, 1), "Transpose"),
    "few": ((3, 5), (1, 0), "CopyElements"),
    "one": ((1, 1), (1, 0), "CopyRows"),
}


@pytest.mark.parametrize("storage", ["f32", "bf16", "u8", "i64"])
@pytest.mark.parametrize("case", CASES)
def test_orders_of_dimensions(case: str, storage: Storage) -> None:
    shape, order, kernel = CASES[case]
    array = np.arange(prod(shape)).astype(array_dtype(storage)).reshape(shape)
    for level in LEVELS:
        found, name = moved(view_of(array, storage).permuted(order), storage, level)
        np.testing.assert_array_equal(found, array.transpose(order))
        assert name == kernel or host_cpu().limited_to(level).vector_bytes < 64


FILTERS = {
    "filters to matrices": ((35, 53, 3, 3), (2, 3, 1, 0), ["Transpose", "CopyRows"]),
    "matrices to filters": ((3, 3, 53, 35), (3, 2, 0, 1), ["CopyRows", "Transpose"]),
    "few filters": ((5, 7, 3, 3), (2, 3, 1, 0), ["CopyElements"]),
    "reversed": ((130, 2, 3, 5, 7), (4, 3, 2, 1, 0), ["Transpose", "CopyRows"]),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", FILTERS)
def test_short_runs_are_moved_twice_in_vectors(case: str, level: str) -> None:
    shape, order, kernels = FILTERS[case]
    array = np.arange(prod(shape), dtype=np.float32).reshape(shape)
    memory = np.full(array.size + 2 * GUARD, 77, np.float32)
    source = view_of(array, "f32").permuted(order)
    target = View(PlanBuffer(memory.nbytes, array=memory), "f32", source.shape, dense_strides(source.shape), GUARD)
    recorder = Recorder(host_cpu().limited_to(level))
    copy(cast("Lowering", recorder), source, target)
    execute(recorder)
    np.testing.assert_array_equal(memory[GUARD:-GUARD].reshape(source.shape), array.transpose(order))
    assert (memory[:GUARD] == 77).all()
    assert (memory[-GUARD:] == 77).all()
    names = [type(kernel).__name__ for kernel, *_ in recorder.jobs]
    assert names == kernels or host_cpu().vector_bytes < 64 or level != "amx"


def test_a_long_row_is_shared_out() -> None:
    array = np.arange(100_003, dtype=np.float32)
    recorder = Recorder(host_cpu())
    copy(cast("Lowering", recorder), view_of(array, "f32"), view_of(np.zeros_like(array), "f32"))
    assert recorder.jobs[0][2] > 16
    np.testing.assert_array_equal(moved(view_of(array, "f32"), "f32", "amx")[0], array)


def test_numbers_are_converted() -> None:
    array = np.linspace(-3, 3, 77, dtype=np.float32)
    patterns, _ = moved(view_of(array, "f32"), "bf16", "amx")
    back, _ = moved(view_of(patterns, "bf16"), "f32", "amx")
    np.testing.assert_allclose(back, array, rtol=2**-8)
    np.testing.assert_array_equal(moved(view_of(array, "f32"), "f64", "amx")[0], array.astype(np.float64))
    np.testing.assert_array_equal(moved(view_of(np.arange(-9, 9, dtype=np.int32), "i32"), "f32", "avx2")[0], np.arange(-9, 9))


@pytest.mark.parametrize("level", LEVELS)
def test_an_element_is_repeated(level: str) -> None:
    array = np.arange(9, dtype=np.float32).reshape(9, 1)
    found, name = moved(view_of(array, "f32").expanded((3, 9, 40)), "f32", level)
    np.testing.assert_array_equal(found, np.broadcast_to(array, (3, 9, 40)))
    assert name == "Repeat"


def test_a_part_is_filled() -> None:
    array = np.zeros((5, 40), np.float32)
    recorder = Recorder(host_cpu())
    fill(cast("Lowering", recorder), view_of(array, "f32").sliced(1, 3, 30), 2.5)
    execute(recorder)
    assert (array[:, 3:33] == 2.5).all()
    assert array.sum() == 2.5 * 150


@pytest.mark.parametrize("storage", ["f32", "bf16"])
@pytest.mark.parametrize("channels", [3, 4, 5])
def test_planes_become_pixels_in_a_frame(channels: int, storage: Storage) -> None:
    planes = np.arange(2 * 3 * 9 * 41, dtype=np.float32).reshape(2, 3, 9, 41) % 256
    frame = np.full((2, 12, 44, channels), 77, np.float32 if storage == "f32" else np.uint16)
    recorder = Recorder(host_cpu())
    pad(cast("Lowering", recorder), view_of(planes, "f32").permuted((0, 2, 3, 1)), view_of(frame, storage), (0, 1, 2, 0), 0.0)
    execute(recorder)
    expected = np.pad(planes.transpose(0, 2, 3, 1), ((0, 0), (1, 2), (2, 1), (0, channels - 3)))
    found = frame if storage == "f32" else (frame.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(found, expected)
    assert type(recorder.jobs[-1][0]).__name__ == "Interleave"


@settings(max_examples=25)
@given(data=st.data(), storage=st.sampled_from(["f32", "u16", "u8", "i64"]), level=st.sampled_from(LEVELS))
def test_any_view(data: st.DataObject, storage: Storage, level: str) -> None:
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 7, 15, 16, 17, 33]), min_size=1, max_size=4)))
    array = np.arange(prod(shape)).astype(array_dtype(storage)).reshape(shape)
    view = view_of(array, storage)
    for axis, size in enumerate(shape):
        step = data.draw(st.sampled_from([1, 1, 1, 2, -1]))
        count = data.draw(st.integers(1, -(-size // abs(step))))
        view = view.sliced(axis, 0 if step > 0 else size - 1, count, step)
    view = view.permuted(data.draw(st.permutations(range(len(shape)))))
    found, _ = moved(view, storage, level)
    np.testing.assert_array_equal(found, shown(view, array))

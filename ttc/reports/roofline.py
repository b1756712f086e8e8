"""Measures the most that this machine can do: arithmetic and memory."""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ttc.runtime.cpu import starting_threads
from ttc.runtime.engines.native.codegen.cache import process_cache
from ttc.runtime.engines.native.codegen.code import Signature, compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.kernels.probe import MultiplyAdd

REPETITIONS = 8
"""How often a roofline is measured; each thread's fastest counts, as the others met with something else on their core."""
PROBE_SECONDS = 0.008
"""The seconds that each repetition of the arithmetic takes."""
COPIED_BYTES = 128 << 20
"""The bytes that all threads together copy: more than caches hold."""


@dataclass(frozen=True)
class Roofline:
    """The most that so many threads reach: float32 operations a second (a fused multiply-add is two), and bytes a second that a copy reads
    and writes.
    """

    threads: int
    flops_per_second: float
    bytes_per_second: float

    def seconds(self, flops: float, size_bytes: float) -> float:
        """Return the least seconds that work takes, if its operands come from memory and its results go there."""
        return max(flops / self.flops_per_second, size_bytes / self.bytes_per_second)


def measured_roofline(threads: int) -> Roofline:
    """Take about 0.3 s to find out.  Raises E0901, E0104 if no code can be made."""
    return Roofline(threads, _flops(threads), _copying(threads))


def _flops(threads: int) -> float:
    cpu, kernel = host_cpu(), MultiplyAdd()
    code = compiled([kernel], cpu, process_cache())
    call = Signature(code.address(kernel))
    lanes = max(cpu.vector_bytes // 4, 4)
    sums = np.zeros((threads, 64), np.float32)  # a cache line or more for each
    texts = [struct.pack("<fxxxxfxxxxq", 0.5, 1.0, sums[index].ctypes.data) for index in range(threads)]
    words = [ctypes.create_string_buffer(text, len(text)) for text in texts]

    def run(tasks: int) -> Callable[[int], None]:
        return lambda index: call(ctypes.addressof(words[index]), 0, tasks, None)

    tasks = 1 << 14
    while min(_together(run(tasks), threads)) < PROBE_SECONDS:
        tasks *= 2
    rate = _rate(run(tasks), threads)
    code.close()
    return rate * tasks * kernel.CHAINS * lanes * 2


def _copying(threads: int) -> float:
    parts = [np.ones((2, COPIED_BYTES // threads), np.uint8) for _ in range(threads)]
    return _rate(lambda index: np.copyto(parts[index][1], parts[index][0]), threads) * 2 * parts[0].shape[1]


def _rate(work: Callable[[int], object], threads: int) -> float:
    """Return how often a second all threads together do their work."""
    repetitions = [_together(work, threads) for _ in range(REPETITIONS)]
    return sum(1 / min(seconds) for seconds in zip(*repetitions, strict=True))


def _together(work: Callable[[int], object], threads: int) -> list[float]:
    """Return seconds that each thread takes, all at the same time."""
    seconds = [0.0] * threads
    gate = threading.Barrier(threads)

    def one(index: int) -> None:
        gate.wait()
        start = time.perf_counter()
        work(index)
        seconds[index] = time.perf_counter() - start

    others = [threading.Thread(target=one, args=(index,), daemon=True) for index in range(1, threads)]
    with starting_threads():
        for thread in others:
            thread.start()
    one(0)
    for thread in others:
        thread.join()
    return seconds

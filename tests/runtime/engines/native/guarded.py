"""Graphs on the native engine whose every piece of memory touches a page that nobody may read or write, in child processes.

A kernel that leaves its operands, results or scratch ends the child, and the parent names it.  Temporaries hold no numbers at first.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import mmap
import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.netlist.model import Netlist
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution import constants, lease, plan
from ttc.runtime.engines.native.execution.instance import Instance
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.execution.values import RunValues
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT, PlanBuffer, View
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.planning.arena import Arena
from ttc.runtime.engines.native.planning.template import Template, template_of
from ttc.runtime.engines.native.prepare import build, lower_nodes
from ttc.runtime.engines.reference import plan_of
from ttc.runtime.engines.result_memory import ResultMemory
from ttc.runtime.tensors import Constants, TensorSource

SECONDS = 60
"""That a task may take."""
MEMORY_BYTES = 6 << 30
"""Of address space that a limited task may take, beyond what its process has."""
_PAGE = mmap.PAGESIZE
_MPROTECT = ctypes.CDLL(None, use_errno=True).mprotect
_MPROTECT.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


@dataclass(frozen=True)
class Graph:
    """A netlist of one graph `g`, whose result is in queue `y`; entries: of its inputs; tolerance: share of the largest number."""

    name: str
    netlist: Netlist
    tensors: dict[str, TensorSource]
    entries: dict[str, NDArray]
    tolerance: float


@dataclass(frozen=True)
class Outcome:
    """What a child found.

    Args:
        problem: how it ended, or how its numbers differ; "" if all is well.
        kernels: that ran, with those of constants.
        refusals: ops that ran in Python, and why.
    """

    name: str
    problem: str
    kernels: tuple[str, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()


def outcomes(graphs: Sequence[Graph], cpu: Cpu, *, at_end: bool) -> list[Outcome]:
    """Each graph run once between pages that cannot be touched, and compared with the reference engine."""
    found: list[Outcome] = []
    for name, reply in in_children([(g.name, lambda note, g=g: _reply(g, cpu, at_end, note)) for g in graphs]):
        found.append(Outcome(name, reply) if isinstance(reply, str) else Outcome(name, *reply))
    return found


# ---- child processes -------------------------------------------------------------------------------------------------------------------


def in_children(tasks: Sequence[tuple[str, Callable[[Callable[[str], None]], Any]]]) -> Iterator[tuple[str, Any]]:
    """Tasks in a child process, and in another after one that ends it.

    Args:    tasks: (name, function); the function gives what JSON holds, and may note what it is about to do.
    Returns: name and what the function gave; or a text: what it raised, or what ended the child, with its last note.
    """
    done = 0
    while done < len(tasks):
        shared = mmap.mmap(-1, 1 << 16)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _work(tasks[done:], shared, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as lines:
            replies = [json.loads(line) for line in lines]
        status = os.waitpid(child, 0)[1]
        for (name, _), reply in zip(tasks[done:], replies, strict=False):
            yield name, reply
        done += len(replies)
        if status:
            note = shared[:].rstrip(b"\0").decode()
            yield tasks[done][0], f"ended by {signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else status}: {note}"
            done += 1


def _work(tasks: Sequence[tuple[str, Callable[[Callable[[str], None]], Any]]], shared: mmap.mmap, writer: int) -> None:
    """The life of a child."""

    def note(text: str) -> None:
        shared[:] = text.encode()[: len(shared)].ljust(len(shared), b"\0")

    status = 1
    try:
        faulthandler.disable()
        with os.fdopen(writer, "wb", buffering=0) as lines:
            for _, task in tasks:
                signal.alarm(SECONDS)
                try:
                    reply = task(note)
                except Exception:  # the parent's test fails with it
                    reply = traceback.format_exc()
                lines.write(json.dumps(reply).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


def limit_memory() -> None:
    """Let the process have MEMORY_BYTES more address space than it has, however much other tests have taken in it before."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, resource.RLIM_INFINITY))  # a child runs several tasks


# ---- memory ----------------------------------------------------------------------------------------------------------------------------


def guarded(count: int, *, at_end: bool) -> NDArray[np.uint8]:
    """So many bytes, all 255, beside a page that nobody may touch: behind them, or before them.  Raises MemoryError."""
    room = -(-max(count, 1) // _PAGE) * _PAGE
    try:
        whole = np.frombuffer(mmap.mmap(-1, room + 2 * _PAGE), np.uint8)
    except (OSError, OverflowError) as error:
        raise MemoryError(str(error)) from None
    start = _PAGE + (room - count if at_end else 0)
    found = whole[start : start + count]
    found[:] = 255
    for place in (0, _PAGE + room):
        _protect(whole.ctypes.data + place, _PAGE, 0)
    return found


def _protect(address: int, size: int, access: int) -> None:
    assert _MPROTECT(address, size, access) == 0, os.strerror(ctypes.get_errno())


def _whole_lines(count: int) -> int:
    return -(-max(count, 1) // ALIGNMENT) * ALIGNMENT


def _read_only(array: NDArray, *, at_end: bool) -> NDArray:
    """A copy that cannot be written."""
    copy = guarded(array.nbytes, at_end=at_end)
    copy[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    first = copy.ctypes.data // _PAGE * _PAGE
    _protect(first, -(-(copy.ctypes.data + copy.nbytes) // _PAGE) * _PAGE - first, mmap.PROT_READ)
    return copy.view(array.dtype).reshape(array.shape)


class _Guard:
    """Takes the place of the engine's own memory, in a child process for good."""

    def __init__(self, *, at_end: bool, note: Callable[[str], None]) -> None:
        self.at_end, self.note = at_end, note
        self.jobs: dict[int, Sequence[Job]] = {}
        self.kernels: list[str] = []
        guard, own_constant = self, lower_nodes.constant_view

        class GuardedInstance(Instance):
            """Every buffer, and the scratch of every job, apart from all others."""

            def __init__(self, template: Template, arena: Arena, addresses: Mapping[str, int], threads: int) -> None:
                self.apart = {buffer: guard.bytes(_whole_lines(buffer.size_bytes)) for buffer in arena.offsets}
                self.kept: list[NDArray] = []
                super().__init__(template, arena, addresses, threads)

            def base(self, buffer: PlanBuffer) -> int:
                return self.apart[buffer].ctypes.data if buffer in self.apart else super().base(buffer)

            def bytes_of(self, buffer: PlanBuffer) -> NDArray[np.uint8]:
                return self.apart[buffer][: buffer.size_bytes]

            def segment(self, first: int, last: int) -> NDArray[np.int64]:
                run = super().segment(first, last)
                if last == first + 1:
                    job = guard.jobs[id(self._template)][first]
                    guard.kernels.append(type(job.kernel).__name__)
                    guard.note(f"{job.kernel}, words {[w if not isinstance(w, View) else w.shape for w in job.words]}")
                    self.kept.append(guard.bytes(_whole_lines(job.scratch)))
                    run[3], run[4] = self.kept[-1].ctypes.data, len(self.kept[-1])
                return run

        def template(jobs: Sequence[Job], *rest: Any) -> Template:
            made = template_of(jobs, *rest)
            self.jobs[id(made)] = jobs
            return made

        def constant(tensors: Constants, key: str) -> View | None:
            view = own_constant(tensors, key)
            if view is not None and view.buffer.array is not None:
                view.buffer.array = _read_only(view.buffer.array, at_end=at_end)
            return view

        def array(self: ResultMemory, shape: Sequence[int], dtype: np.dtype) -> NDArray:
            count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            return guard.bytes(count).view(dtype).reshape(shape)

        constants.Instance = lease.Instance = GuardedInstance  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]
        build.template_of = template  # pyright: ignore[reportPrivateImportUsage]
        constants.aligned_bytes = lambda count: self.bytes(_whole_lines(count))  # pyright: ignore[reportPrivateImportUsage]
        lower_nodes.constant_view = constant  # pyright: ignore[reportPrivateImportUsage]
        ResultMemory.array = array
        lease.SMALL_BYTES = 0  # entries lie in the memory of the tests, which is guarded

    def bytes(self, count: int) -> NDArray[np.uint8]:
        return guarded(count, at_end=self.at_end)


_GUARDS: list[_Guard] = []


def guard(*, at_end: bool, note: Callable[[str], None]) -> _Guard:
    """Guards the engine's memory from now on, in a child process."""
    if not _GUARDS:
        _GUARDS.append(_Guard(at_end=at_end, note=note))
    return _GUARDS[0]


def _reply(graph: Graph, cpu: Cpu, at_end: bool, note: Callable[[str], None]) -> Any:
    """(problem, kernels, refusals) of one graph, in a child process."""
    used = guard(at_end=at_end, note=note)
    used.kernels.clear()
    tensors, one = Constants(graph.tensors), graph.netlist.graphs["g"]
    note("prepare")
    prepared = NativeEngine(1, cpu).prepare(one, graph.netlist, tensors)
    expected = plan_of(one, graph.netlist, tensors).run(graph.entries)["y"]
    refusals = [(node.work.op, reason) for node, reason in build.lower_graph(one, graph.netlist, tensors, cpu).refusals]
    if not isinstance(prepared, NativePlan):
        return "", [], refusals
    entries = {name: _read_only(entry, at_end=at_end) for name, entry in graph.entries.items()}
    found = run_jobs(prepared, entries)["y"]
    return difference(found, expected, graph.tolerance), used.kernels, refusals


def run_jobs(prepared: NativePlan, entries: dict[str, NDArray]) -> dict[str, NDArray]:
    """A run, job by job."""

    def compute(leased: lease.Lease, memory: RunValues | None) -> bool:
        for segment in prepared.prepared.layout.segments:
            if not plan._hold(segment.conditions, memory):
                continue
            for number in range(segment.first, segment.last):
                prepared._pool.run(leased.instance.segment(number, number + 1).ctypes.data)
            if leased.status[0]:
                return False
            if segment.step is not None and memory is not None:
                memory.compute(segment.step, prepared._resolver)
        return True

    return prepared._leased(entries, compute)


def difference(found: NDArray, expected: NDArray, tolerance: float) -> str:
    """What is wrong with a result; "" if nothing is."""
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"
    if found.dtype.kind != "f":
        wrong = int((found != expected).sum())
        return f"{wrong} of {found.size} elements are wrong" if wrong else ""
    with np.errstate(invalid="ignore"):
        limit = tolerance * np.maximum(1, np.abs(np.where(np.isfinite(expected), expected, 0)).max(initial=0))
        near = (np.abs(found - expected) <= limit) | (found == expected) | (np.isnan(found) & np.isnan(expected))
    return f"{int((~near).sum())} of {found.size} elements are wrong" if not near.all() else ""

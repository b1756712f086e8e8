"""The native engine: graphs as machine code that is made for them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ttc.dialects.netlist.model import Graph, Netlist
from ttc.runtime.engines.base import Plan
from ttc.runtime.engines.native.arena import Arena
from ttc.runtime.engines.native.build import buffers_of, layout_of, lower_graph, split_constant
from ttc.runtime.engines.native.cache import Cache, cache_folder
from ttc.runtime.engines.native.code import Code, compiled
from ttc.runtime.engines.native.features import Cpu, host_cpu
from ttc.runtime.engines.native.instance import Instance, template_of
from ttc.runtime.engines.native.lowering import Job
from ttc.runtime.engines.native.memory import aligned_bytes
from ttc.runtime.engines.native.plan import NativePlan
from ttc.runtime.engines.native.pool import KERNELS, Pool, pool_of
from ttc.runtime.engines.reference import plan_of
from ttc.runtime.tensors import Constants


@dataclass(frozen=True)
class NativeEngine:
    """Generates, compiles and keeps kernels for this CPU, and runs them on threads of its own.

    Args:
        threads: that compute one run, the caller's among them.
        cpu: what code may use; None: all that this machine has.
    """

    threads: int = 1
    cpu: Cpu | None = None
    name: str = "native"
    joins_graphs: bool = True

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        """A plan; graphs of which no op has a kernel run on the reference engine.  Weights are packed now."""
        try:
            return self._planned(graph, netlist, constants)
        except (MemoryError, OverflowError):  # sizes that only a netlist made by others has: the reference engine says what is wrong
            return plan_of(graph, netlist, constants)

    def _planned(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        cpu = _checked(self.cpu or host_cpu())
        lowered = lower_graph(graph, netlist, constants, cpu)
        if not any(isinstance(step, Job) for step in lowered.steps):
            return plan_of(graph, netlist, constants)
        first, steps = split_constant(lowered.steps)
        layout = layout_of(lowered, steps, netlist)
        code = compiled([*KERNELS, *(job.kernel for job in (*first, *layout.jobs))], cpu, Cache(cache_folder(os.environ)))
        pool = pool_of(self.threads, code)
        needed = {id(b) for step in steps for buffers in buffers_of(step) for b in buffers}
        needed |= {id(w.view.buffer) for w in layout.written if w.view is not None}
        _compute_constants(first, needed, code, pool, constants)
        borders = frozenset(segment.last - 1 for segment in layout.segments)
        template = template_of(layout.jobs, code.addresses, pool.threads, borders)
        return NativePlan(graph, netlist, constants, layout, template, pool, code)


def _checked(cpu: Cpu) -> Cpu:
    """The CPU with the instructions that work."""
    if not cpu.has("amx-bf16"):
        return cpu
    from ttc.runtime.engines.native.amx_check import with_checked_tiles

    return with_checked_tiles(cpu)


def _compute_constants(jobs: Sequence[Job], needed: set[int], code: Code, pool: Pool, constants: Constants) -> None:
    """Run jobs on constants, whose results are constants.  Tensors that are not needed in place are given back after their last reader.

    needed: constants that are read later, by identity.
    """
    if not jobs:
        return
    last = {id(view.buffer): number for number, job in enumerate(jobs) for view in job.read}
    template = template_of(jobs, code.addresses, pool.threads, frozenset(range(len(jobs))))
    instance = Instance(template, Arena({}, 0), pool.threads)
    for number, job in enumerate(jobs):
        for view in job.written:
            if view.buffer.array is None:
                view.buffer.array = aligned_bytes(view.buffer.size_bytes)
                instance.bind(view.buffer, view.buffer.array.ctypes.data)
        run = instance.segment(number, number + 1)
        pool.run(run.ctypes.data)
        for buffer in dict.fromkeys(view.buffer for view in job.read):
            if last[id(buffer)] == number and id(buffer) not in needed:
                buffer.array = None
                if buffer.key is not None:
                    constants.release(buffer.key)

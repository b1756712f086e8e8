"""The native engine: graphs as machine code that is made for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Graph, Netlist
from ttc.runtime.engines.base import Plan
from ttc.runtime.engines.native.codegen.cache import Cache
from ttc.runtime.engines.native.codegen.code import Code, compiled, mapped
from ttc.runtime.engines.native.codegen.features import Cpu, host_cpu
from ttc.runtime.engines.native.codegen.generator import planner_version
from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders
from ttc.runtime.engines.native.execution.constants import compute_constants
from ttc.runtime.engines.native.execution.on_memory import PLACE
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.execution.pool import KERNELS, pool_of
from ttc.runtime.engines.native.graph.constants import constant_view
from ttc.runtime.engines.native.planning.plan_bytes import KeptProgram, pack, pack_program, unpack, unpack_program
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.reference import ReferencePlan, plan_of
from ttc.runtime.engines.room import require_memory, require_results
from ttc.runtime.forked import forked
from ttc.runtime.metrics import add_changes, changes, counter, current
from ttc.runtime.tensors import Constants
from ttc.runtime.tracing import recordings, span

if TYPE_CHECKING:
    from ttc.dialects.core.watching import StepInstrument
    from ttc.runtime.engines.native.planning.prepared import Prepared
    from ttc.runtime.engines.native.prepare.draft import Draft

_PYTHON_OPS = counter("python_ops")
_ALWAYS = (*KERNELS, PLACE)
"""The kernels that every plan has."""


class _NotKept(Exception):
    """A part of the plan runs in Python: it cannot be kept."""


@record
class NativeEngine:
    """Generates, compiles and keeps kernels for this CPU, and runs them on threads of its own.

    Args:
        threads: that compute one run, the caller's among them.
        cpu: what code may use; None: all that this machine has.
        kernels: where code is found and kept.
        instruments: what watches the steps from a graph to its plan; plans that were kept are then made anew.
    """

    threads: int = 1
    cpu: Cpu | None = None
    kernels: KernelFolders = KernelFolders()
    instruments: Sequence[StepInstrument] = ()
    name: str = "native"
    joins_graphs: bool = True

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        """Return a plan; graphs of which no op has a kernel run on the reference engine.  Weights are packed now.

        Raises E0104 for more memory than this process can have.
        """
        require_results(graph, held=False)
        try:
            return self._planned(graph, netlist, constants)
        except (MemoryError, OverflowError):  # sizes that only a netlist made by others has: the reference engine says what is wrong
            return plan_of(graph, netlist, constants)

    def prepare_cache(self) -> None:
        """Find out which instructions work, and keep the code of the threads that run jobs; see `RemembersPlans`."""
        cpu, store = self.checked_cpu(), self.kernels.store()
        if store.reason is None:
            compiled(_ALWAYS, cpu, store).close()

    def remember(self, key: str, note: str, plans: Mapping[str, Plan]) -> None:
        """Keep the plans of a program, unless a part of it runs in Python or there is no cache; see `RemembersPlans`."""
        graphs: dict[str, bytes] = {}
        symbols: dict[str, str] = {}
        for graph, plan in plans.items():
            if not isinstance(plan, NativePlan) or (data := pack(plan.prepared)) is None:
                return
            graphs[graph] = data
            symbols |= plan.code.symbols
        self._write(key, note, graphs, symbols)

    def keep(self, key: str, graph: str, source: Callable[[], Netlist], constants: Constants) -> bool:
        """Make and keep a plan in a copy of this process, whose memory goes with it; see `RemembersPlans`."""
        if self.instruments or self.kernels.told is not None or self.kernels.store().reason is not None or recordings():
            return False
        counted = forked(lambda: self._keep(key, graph, source, constants))
        if counted is None:
            return False
        add_changes(json.loads(counted))
        return True

    def _keep(self, key: str, graph: str, source: Callable[[], Netlist], constants: Constants) -> bytes:
        """Keep a plan without making it ready to run, and tell what was counted.  Raises _NotKept."""
        before, cpu, netlist = current(), self.checked_cpu(), source()
        draft, prepared = self.drafted(netlist.graphs[graph], netlist, constants, cpu)
        data = None if prepared is None else pack(prepared)
        if data is None:
            raise _NotKept
        self._write(key, "", {graph: data}, self._compiled(draft, cpu).symbols)
        return json.dumps(changes(before)).encode()

    def _write(self, key: str, note: str, graphs: Mapping[str, bytes], symbols: Mapping[str, str]) -> None:
        cpu, store = self.checked_cpu(), self.kernels.store()
        kernels = {name: (symbol, store.name(name, cpu) or "") for name, symbol in symbols.items()}
        store.write(self._entry(key, cpu, store), pack_program(KeptProgram(note, kernels, graphs)))

    def recall(self, key: str, source: Callable[[], Netlist], constants: Constants) -> tuple[str, dict[str, Plan]] | None:
        """Return plans that were kept, or None; see `RemembersPlans`."""
        if self.instruments:
            return None
        cpu, store = self.checked_cpu(), self.kernels.store()
        data = store.read(self._entry(key, cpu, store))
        try:
            return None if data is None else self._recalled(unpack_program(data), cpu, store, source, constants)
        except MemoryError:  # a load without what was kept may do with less: on the reference engine
            return None

    def _recalled(
        self, kept: KeptProgram, cpu: Cpu, store: Cache, source: Callable[[], Netlist], constants: Constants
    ) -> tuple[str, dict[str, Plan]] | None:
        """None if the code of a kernel is gone."""
        pieces = {name: (symbol, code) for name, (symbol, entry) in kept.kernels.items() if (code := store.read(entry)) is not None}
        if len(pieces) < len(kept.kernels):
            return None
        code = mapped(pieces, cpu)
        pool, found = pool_of(self.threads, code), dict[str, Plan]()
        for graph, packed in kept.graphs.items():
            prepared = unpack(packed)
            require_memory(prepared.layout.run_bytes, "a run")
            for buffer in set(prepared.buffers()):
                view = None if buffer.key is None else constant_view(constants, buffer.key)
                buffer.array = buffer.array if view is None else view.buffer.array
            compute_constants(prepared.packing, code, pool, constants)
            found[graph] = NativePlan(prepared, pool, code, *_later(self, cpu, graph, source, constants))
        return kept.note, found

    def drafted(
        self, graph: Graph, netlist: Netlist, constants: Constants, cpu: Cpu, instruments: Sequence[StepInstrument] = ()
    ) -> tuple[Draft, Prepared | None]:
        """Return the draft of a graph with its jobs, and what is kept of it; None if no op has a kernel."""
        from ttc.runtime.engines.native.prepare.build import (  # of no use to programs that are kept, and half of a load
            lower_graph,
            prepared_of,
        )

        draft = lower_graph(graph, netlist, constants, cpu, instruments)
        return draft, prepared_of(draft, self.threads, instruments)

    def _planned(self, graph: Graph, netlist: Netlist, constants: Constants) -> Plan:
        from ttc.runtime.engines.native.prepare.bodies import is_planned, planned_bodies

        cpu = self.checked_cpu()
        draft, prepared = self.drafted(graph, netlist, constants, cpu, self.instruments)
        if prepared is None:
            for op in graph.ops:
                for work in op.work.works:
                    _PYTHON_OPS.add(1, work.op)
            return plan_of(graph, netlist, constants)
        require_memory(prepared.layout.run_bytes, "a run")
        code = self._compiled(draft, cpu)
        pool = pool_of(self.threads, code)
        compute_constants(prepared.packing, code, pool, constants)
        for step in draft.steps:
            if isinstance(step, PythonStep) and is_planned(step.node.work):
                step.bodies.extend(planned_bodies(step, netlist, lambda body, inner: self.prepare(body, inner, constants)))
        draft.forget_nodes()
        return NativePlan(prepared, pool, code, cache(lambda: plan_of(graph, netlist, constants)), lambda: draft)

    def _compiled(self, draft: Draft, cpu: Cpu) -> Code:
        """Return the code of a draft's jobs and of the threads that run them."""
        jobs = (*draft.first, *draft.jobs)
        try:
            with span("compile", "kernels"):
                return compiled([*_ALWAYS, *(job.kernel for job in jobs)], cpu, self.kernels.store(), told=self.kernels.told)
        except Error as error:
            makers = (job.node.where for job in jobs if error.context == f"kernel {job.kernel.symbol}")
            error.where = error.where or next(makers, None)
            raise

    def _entry(self, key: str, cpu: Cpu, store: Cache) -> str | None:
        return store.name(f"plans of {key} on {self.threads} threads", cpu, planner_version)

    def checked_cpu(self) -> Cpu:
        """Return the CPU with the instructions that work."""
        cpu = self.cpu or host_cpu()
        if not cpu.has("amx-bf16"):
            return cpu
        from ttc.runtime.engines.native.execution.amx_check import with_checked_tiles

        return with_checked_tiles(cpu, self.kernels)


def _later(
    engine: NativeEngine, cpu: Cpu, graph: str, source: Callable[[], Netlist], constants: Constants
) -> tuple[Callable[[], ReferencePlan], Callable[[], Draft]]:
    """Return what a plan that was kept needs of its graph where data is out of range, and where somebody asks what takes its time."""

    @cache
    def reference() -> ReferencePlan:
        netlist = source()
        return plan_of(netlist.graphs[graph], netlist, constants)

    @cache
    def draft() -> Draft:
        netlist = source()
        return engine.drafted(netlist.graphs[graph], netlist, constants, cpu)[0]

    return reference, draft

"""A golden run: the programs of a Buda netlist, executed on queues whose pointers the programs set.

What the host does, which a netlist does not say:

- Queues that the host fills get an entry whenever a graph needs one that is not there yet, so that the host pushes what the programs
  consume.  Rams get the value of an entry before the first program runs; so do rams that ops write and that are no gradient accumulators,
  which start from zero.  Of several rams over one memory the host fills the one at its base, unless that one is filled by an op and
  another is filled by the host.
- A queue that no graph of the programs reads is the host's to read: it pops every entry at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.netlist.buda.epochs import Epoch, epoch_of, epochs_of
from ttc.dialects.netlist.buda.roles import is_host_fed, shared_memories
from ttc.dialects.netlist.instructions import executed_graphs
from ttc.dialects.netlist.model import Netlist, Program, Queue
from ttc.runtime.engines.base import Engine
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.golden.addresses import Allocation
from ttc.runtime.golden.microbatches import EpochRun
from ttc.runtime.golden.ops import OpPlans
from ttc.runtime.golden.rams import GoldenRam, RamPieces
from ttc.runtime.golden.records import Record, Role
from ttc.runtime.golden.rings import HostRing
from ttc.runtime.machine.limits import Limits, Meter
from ttc.runtime.machine.stepper import Actions, ResolvedSetting, Stepper

Source = Callable[[Queue, int], NDArray]
"""The host: gives entry number n of a queue (n-th pushed; for a ram, the entry at pointer n), as the queue's format holds it."""


class GoldenSession(Actions):
    """Programs that run one after the other on the same queues.

    Args:
        source: the host.
        programs: that will run; None: all of the netlist.  Queues that none of their graphs reads are drained by the host.
        keep: whether entries are kept, for `Record.array`.
        engine: that computes the ops; None: the reference engine.
    """

    def __init__(
        self,
        netlist: Netlist,
        source: Source,
        programs: Iterable[str] | None = None,
        *,
        keep: bool = False,
        limits: Limits | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.netlist = netlist
        self.meter = Meter(limits or Limits())
        self._source = source
        self._keep = keep
        self._epochs = epochs_of(netlist)
        self._ops = OpPlans(netlist, engine or ReferenceEngine())
        self._popped: dict[str, Record] = {}
        chosen = list(netlist.programs if programs is None else programs)
        used = [self.program(name) for name in dict.fromkeys(chosen)]
        self._read = {name for program in used for graph in executed_graphs(program) for name in _inputs(netlist, graph)}
        self.queues: dict[str, HostRing | GoldenRam] = {}
        self._make_queues()
        self._allocation = Allocation(netlist, used)
        self._sums: dict[str, NDArray | None] = {}
        self._steppers: dict[str, Stepper] = {}
        self._variables: dict[str, int] = {}
        self._following: dict[str, dict[str, None]] = {}
        self._pending: dict[str, Mapping[str, ResolvedSetting]] = {}
        self._waited: dict[str, None] = {}
        self._merged: dict[tuple[str, ...], Epoch] = {}
        self._late: dict[str, None] = {}

    def program(self, name: str) -> Program:
        """Return a program of the netlist.  Raises E0803."""
        found = self.netlist.programs.get(name)
        if found is None:
            raise Error("E0803", f"there is no program '{name}'", hint=nearest(name, self.netlist.programs))
        return found

    def run(self, name: str, params: Mapping[str, int] | None = None) -> None:
        """Run a program once, on the entries that queues hold.

        Args:    params: values of its parameters, by name without `$`.
        Raises:  E0803 for an unknown program, E0101 for parameters that do not fit, E0804 where queues are empty, full or not
            allocated, E0805 at the limits, and what ops raise.
        """
        program = self.program(name)
        self._following.clear()
        self._variables.clear()
        self._pending.clear()
        self._waited.clear()
        self._late.clear()
        try:
            if name not in self._steppers:
                self._steppers[name] = Stepper(program)
            self._steppers[name].run(self, self.meter, params)
            self._check_complete()
        except Error as error:
            raise error.at(f"program '{name}'") from None

    def records(self) -> Iterator[Record]:
        """Yield what went in and came out so far, queue after queue; rams that ops write, and queues between graphs, as they are now.

        Entries that the host pushed are drawn anew, so that they need not be kept while programs run.
        """
        written = {queue for graph in self.netlist.graphs.values() for _, queue in graph.writes}
        for name, queue in self.queues.items():
            pushed = range(queue.pushed) if isinstance(queue, HostRing) else self._filled(queue)
            if pushed:
                yield self._record(queue.queue, "input", ((entry, self._give(queue.queue, entry)) for entry in pushed))
            if name in self._popped:
                yield self._popped[name]
            changed = name in written and (isinstance(queue, HostRing) or queue.memory.written)
            left = queue.left() if changed else {}
            if left:
                yield self._record(queue.queue, "ram" if isinstance(queue, GoldenRam) else "edge", left.items())

    # ---- what programs do ------------------------------------------------------------------------------------------------------------

    def execute(self, graph: str, settings: Mapping[str, ResolvedSetting]) -> None:
        """Run a graph, or note that it is to run once all graphs are called for that it exchanges values with.  Raises E0601, E0804.

        What else is executed until then runs together with them.
        """
        epoch = self._epochs.get(graph)
        if epoch is None:
            raise Error("E0601", f"there is no graph '{graph}'", hint=nearest(graph, self.netlist.graphs))
        if graph in self._pending:
            self._check_complete()
        self._pending[graph] = settings
        self._waited |= dict.fromkeys(epoch.graphs)
        for setting in settings.values():
            if setting.queue not in self.queues:
                raise Error("E0601", f"there is no queue '{setting.queue}'", f"graph '{graph}'", nearest(setting.queue[:80], self.queues))
            if setting.follows is not None:
                self._following.setdefault(setting.follows, {})[setting.queue] = None
        if len(self._pending) == len(self._waited):
            self._run(self._together())

    def changed(self, name: str, value: int) -> None:
        """Move the queues whose rd_ptr_global was set to this variable by an execution before."""
        self._variables[name] = value
        if self._pending:
            self._late[name] = None
        else:
            self._follow(name)

    def allocate(self, queue: str) -> None:
        """Give a dynamic queue its memory, empty.  Raises E0601, E0804."""
        self._allocation.allocate(queue)
        self._clear(queue)

    def deallocate(self, queue: str) -> None:
        """Take the memory of a dynamic queue back, with all entries in it. Raises E0601, E0804."""
        self._allocation.deallocate(queue)
        self._clear(queue)

    # ---- inside ----------------------------------------------------------------------------------------------------------------------

    def _clear(self, name: str) -> None:
        queue = self.queues[name]
        if isinstance(queue, HostRing):
            queue.clear()

    def _together(self) -> Epoch:
        """Return one epoch of all graphs that wait."""
        names = tuple(self._pending)
        epoch = self._epochs[names[0]]
        if len(names) == len(epoch.graphs):
            return epoch
        if names not in self._merged:
            self._merged[names] = epoch_of([self.netlist.graphs[name] for name in names], self.netlist)
        return self._merged[names]

    def _run(self, epoch: Epoch) -> None:
        settings, self._pending, self._waited = self._pending, {}, {}
        for graph in epoch.graphs.values():
            self._allocation.check_use(graph)
        self.meter.fits(epoch.elements, f"graph '{next(iter(epoch.graphs))}'")
        self.meter.epoch(epoch.microbatches, epoch.work)
        EpochRun(epoch, settings, self.queues, self._sums, self._ops).run()
        late, self._late = self._late, {}
        for name in late:
            self._follow(name)

    def _follow(self, variable: str) -> None:
        for name in self._following.get(variable, ()):
            queue = self.queues[name]
            if isinstance(queue, HostRing) and self._allocation.is_live(name):
                queue.move_to(self._variables[variable])

    def _check_complete(self) -> None:
        """Raises E0804 if a graph was to run whose neighbours are not executed."""
        if self._pending:
            missing = next(other for other in self._waited if other not in self._pending)
            reader = next(name for name in self._pending if missing in self._epochs[name].graphs)
            message = f"graph '{reader}' is executed without graph '{missing}', with which it exchanges values"
            raise Error("E0804", message, hint="graphs of one epoch are executed one after the other, each once")

    def _make_queues(self) -> None:
        memories: dict[str, RamPieces] = {}
        for shared in shared_memories(self.netlist):
            memory = RamPieces(shared, self.meter, partial(self._give, shared.owner))
            memories |= {view.name: memory for view in shared.views}
        for name, queue in self.netlist.queues.items():
            if queue.type == "ram":
                self.queues[name] = GoldenRam(queue, memories[name])
            elif is_host_fed(queue):
                self.queues[name] = HostRing(queue, self.meter, source=partial(self._give, queue))
            else:
                drain = None if name in self._read else partial(self._pop, queue)
                self.queues[name] = HostRing(queue, self.meter, drain=drain)

    def _pop(self, queue: Queue, entry: NDArray) -> None:
        if queue.name not in self._popped:
            self._popped[queue.name] = Record(queue, "output", self._keep, self.meter)
        self._popped[queue.name].add(entry)

    def _filled(self, ram: GoldenRam) -> list[int]:
        return sorted(ram.memory.filled) if ram.memory.owner is ram.queue else []

    def _give(self, queue: Queue, entry: int) -> NDArray:
        """Return an entry of the host's.  Raises E0805 for one that is too large."""
        self.meter.fits(queue.tensor.elements, queue.name)
        return self._source(queue, entry)

    def _record(self, queue: Queue, role: Role, entries: Iterable[tuple[int, NDArray]]) -> Record:
        record = Record(queue, role, self._keep, self.meter)
        for number, entry in entries:
            record.add(entry, number)
        return record


def _inputs(netlist: Netlist, graph: str) -> Iterator[str]:
    found = netlist.graphs.get(graph)
    for op in found.ops if found is not None else ():
        yield from op.inputs

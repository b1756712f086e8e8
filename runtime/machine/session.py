"""A session: devices, memory that outlives runs, and the programs that run on both."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Condition, RLock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist import model
from ttc.runtime.arguments import check_names, entries_by_queue, entries_of, inputs_of, outputs_of
from ttc.runtime.contract import check_values, known_values
from ttc.runtime.devices import require_device
from ttc.runtime.engines.base import Plan, ShortRun
from ttc.runtime.machine.device import MachineDevice, plan_for
from ttc.runtime.machine.execution import Execution, QueueDemand, Watch
from ttc.runtime.machine.rings import USER
from ttc.runtime.machine.sessions import opened
from ttc.runtime.machine.stalls import stalled
from ttc.runtime.machine.stateful import StatefulEntry, stateful_entry
from ttc.runtime.machine.stepper import Stepper
from ttc.runtime.machine.store import UPDATES, Cells, Store, taken
from ttc.runtime.machine.values import InitialValues
from ttc.runtime.machine.watched import run_of
from ttc.runtime.manifest import Description
from ttc.runtime.metrics import ticks
from ttc.runtime.program import Program

if TYPE_CHECKING:
    from ttc.runtime.machine.snapshot import Held

_begin_run = ticks("runs").tick
Found = TypeVar("Found")


class Session:
    """Runs programs on memory of its own; thread-safe.

    `call` runs a program once, from inputs to outputs.  `push`, `run` and `pop` do the three steps apart, so that several sets of inputs
    may wait, and programs may run between; each fails at once where a queue is full or empty, or waits for so many seconds until another
    thread has changed that.  Programs that use nothing that outlives a run are called concurrently; others one at a time.  A run that
    fails changes nothing.  One that Ctrl-C interrupts while it writes variables in place has changed them, and gives no results.

    Args:
        devices: that compute; None: one for all chips, with the program's own plans.
        number: of the device that the process takes for it, among those that it sees; None: that of its local rank.
    """

    def __init__(self, program: Program, devices: Sequence[MachineDevice] | None = None, *, number: int | None = None) -> None:
        require_device(number)
        self._initial = program
        self._surface = program.netlists.surface
        self._given_devices = tuple(devices) if devices is not None else (MachineDevice.of(program),)
        self._fixed = known_values(program.description.fixed_inputs)
        self._steppers = {name: Stepper(entry) for name, entry in self._surface.programs.items()}
        self._names = {name: {argument.name for argument in inputs_of(entry)} for name, entry in self._surface.programs.items()}
        self._pool: dict[str, deque[Cells]] = {name: deque() for name in self._steppers}
        self._closed = False
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._start()
        opened(self)

    @property
    def program(self) -> Program:
        """The program, with the parameters as they are now."""
        with self._changed:
            return self.values.saved(self._program)

    @property
    def description(self) -> Description:
        """Return what the archive says of itself; unlike `program`, it costs nothing to ask."""
        return self._initial.description

    @property
    def programs(self) -> Collection[str]:
        """Return the names of the entry programs."""
        return self._surface.programs.keys()

    @property
    def fixed_inputs(self) -> Mapping[str, NDArray]:
        """Values of inputs that the program was compiled for; a run with another value of one raises E0806."""
        return self._fixed

    def entry(self, name: str) -> model.Program:
        """Return the entry program of that name.  Raises E0803 if there is none, or the session is closed."""
        self._alive()
        return self._initial.entry(name)

    # ---- one run at a time ---------------------------------------------------------------------------------------------------------------

    def call(self, name: str, inputs: Mapping[str, Any], *, watch: Watch | None = None) -> dict[str, NDArray]:
        """Run a program once on arrays, and return its outputs.

        Args:    inputs: an array for each input; read during the call only.
                 watch: is told every entry that is pushed, with its queue.
        Returns: the outputs by name; arrays of the caller's own.
        Raises:  E0801, E0802, E0806 for inputs, E0803 for an unknown program or a closed session, and as `run` does.
        """
        _begin_run()
        if watch is None and not self._closed and type(inputs) is dict:
            found = self._by_short(name, lambda run: run(inputs) if len(inputs) == len(self._names[name]) else None)
            if found is not None:
                return found
        with run_of(name, self._initial):
            return self._called(name, inputs, watch)

    def call_at(self, name: str, inputs: Sequence[int], results: Sequence[int]) -> bool:
        """Run a program once on memory, as `ShortRun.at` takes it; False where it has no prepared call: `call` runs it then."""
        if self._closed or not self._by_short(name, lambda run: run.at(inputs, results)):
            return False
        _begin_run()
        return True

    def _called(self, name: str, inputs: Mapping[str, Any], watch: Watch | None) -> dict[str, NDArray]:
        entry = self._checked(name, inputs)
        direct = self._direct.get(name) if watch is None else None
        if direct is not None:
            return direct.run(self._plan(name, self._graphs[name]), inputs)
        single = self._single.get(name) if watch is None else None
        if single is not None:
            with self._lock:
                return single.run(self._plan(name, self._graphs[name]), inputs)
        with self._leased(name) as cells, self._changed if self._lives[name] else nullcontext():
            self._push(entry, cells, inputs, watch)
            with self._undoing(cells, name):
                self._execute(entry, cells, watch=watch)
            return self._popped(entry, cells)

    # ---- the same in three steps ---------------------------------------------------------------------------------------------------------

    def push(self, name: str, inputs: Mapping[str, Any], *, timeout: float = 0.0) -> None:
        """Put the inputs of one run into their queues.

        Raises: as `call` does for inputs; E0804 if a queue is full, and stays so for `timeout` seconds.
        """
        entry, cells = self._checked(name, inputs), self._main(name)
        counts = {queue: entries_of(a, self._surface.queues[queue]) for a in inputs_of(entry) for queue in a.queues}

        def full() -> str | None:
            lacking = [queue for queue, count in counts.items() if not cells[queue].has_room(count)]
            return f"queue '{lacking[0]}' is full" if lacking else None

        with self._changed:
            self._wait(full, timeout, f"nothing runs program '{name}'")
            self._push(entry, cells, inputs)
            self._changed.notify_all()

    def run(self, name: str, params: Mapping[str, int] | None = None, *, timeout: float = 0.0) -> None:
        """Run a program once on what is in its queues.

        Args:   params: values of the program's parameters, by name without `$`.
        Raises: E0804 if entries, or room for results, are lacking for `timeout` seconds; E0802, E0805, E0101 as programs do.
        """
        _begin_run()
        entry, cells = self.entry(name), self._main(name)
        demand = QueueDemand(self._surface, self._steppers[name], params)
        with self._changed:
            self._wait(lambda: demand.lacking(cells), timeout, "push inputs first, pop results, or run the program at the other end")
            with run_of(name, self._initial), self._undoing(cells, name):
                self._execute(entry, cells, params)
            self._changed.notify_all()

    def pop(self, name: str, *, timeout: float = 0.0) -> dict[str, NDArray]:
        """Return the outputs of the oldest run that nobody has popped. Raises E0804 if none come for `timeout` seconds."""
        entry, cells = self.entry(name), self._main(name)
        counts = {queue: entries_of(r, self._surface.queues[queue]) for r in outputs_of(entry) for queue in r.queues}

        def empty() -> str | None:
            lacking = [queue for queue, count in counts.items() if cells[queue].available(USER) < min(count, cells[queue].most)]
            return f"queue '{lacking[0]}' has no results" if lacking else None

        with self._changed:
            self._wait(empty, timeout, f"run program '{name}' first")
            found = self._popped(entry, cells)
            self._changed.notify_all()
            return found

    # ---- values --------------------------------------------------------------------------------------------------------------------------

    def states(self, names: Iterable[str] | None = None) -> dict[str, NDArray]:
        """Return copies of states by name, as the model has them.  names: of those that are wanted; None: all. Raises E0801."""
        with self._changed:
            return self.values.states(names)

    def parameters(self) -> dict[str, NDArray]:
        """Return copies of the parameters by name, as the model has them; without those that only derived tensors are stored of."""
        with self._changed:
            return self.values.parameters(self._program)

    def assign(self, parameters: Mapping[str, NDArray], states: Mapping[str, NDArray] | None = None) -> None:
        """Give parameters and states new values; what derives from them is computed anew.

        Raises: E0801, E0802; then nothing has changed.
        """
        with self._changed:
            self._alive()
            staged, others = self.values.staged(parameters, states or {})
            program = self._program.with_parameters(others) if others else self._program
            for variable, value in staged:
                np.copyto(variable.value, value)
            self._use(program)

    def checkpoint(self, path: str | os.PathLike[str], notes: Mapping[str, Plain] | None = None) -> None:
        """Write to a file, whole or not at all, what it takes to go on: states, parameters that runs or `assign` have changed, entries of
        queues, static variables of programs.  Runs that change any of it wait meanwhile.

        Args:   notes: of the caller's, which `restore` gives back.
        Raises: E0103 if the file cannot be written, E0803 once the session is closed.
        """
        with self._changed:
            self._alive()
            self._held().save(Path(path), notes or {})

    def restore(self, path: str | os.PathLike[str]) -> dict[str, Plain]:
        """Go on from a checkpoint of the model, whatever target and formats it was compiled for.

        Parameters that the checkpoint lacks get the values that they had at the start.
        Returns: the notes that `checkpoint` was given.
        Raises: E0102 if there is no such file; E0807 if it is damaged or of another model, or entries of queues do not fit; E0801, E0802
                for values that the program's formats do not take; E0803 once the session is closed.  Then nothing has changed.
        """
        from ttc.runtime.machine.checkpoint import open_checkpoint

        with open_checkpoint(Path(path), self._initial.description) as file, self._changed:
            self._alive()
            for waiting in file.head.queues:
                if waiting.program in self._steppers:
                    self._main(waiting.program)
            self._use(self._held().restore(file))
            self._changed.notify_all()
            return file.head.notes

    def reset(self) -> None:
        """Give states, parameters and queues what they had at the start."""
        with self._changed:
            self._start()
            self._changed.notify_all()

    def close(self) -> None:
        """Give up all memory; further runs, and those that wait, raise E0803."""
        self._closed = True
        with self._changed:
            for free in self._pool.values():
                free.clear()
            self._mains.clear()
            self._short = {}
            self._changed.notify_all()

    def renew(self) -> None:
        """Make new locks in a forked process: a thread that does not exist there may hold the old ones."""
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self.forget_plans()

    def forget_plans(self) -> None:
        """Look for each plan again at its next run: somebody has begun or ended to watch runs."""
        self._plans: dict[str, Plan] = {}
        self._short: dict[str, ShortRun | None] = {}

    # ---- inside --------------------------------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self.values = InitialValues(self._initial)
        self._store = Store(self._surface, self.values.variables)
        self._mains: dict[str, Cells] = {}
        for free in self._pool.values():
            free.clear()
        self._lives = {name: self._outlives(name) for name in self._steppers}
        self._direct, self._single = {}, dict[str, StatefulEntry]()
        for name, direct in self._initial.netlists.direct.items():
            if not self._lives[name]:
                self._direct[name] = direct
            elif (single := stateful_entry(direct, self._surface, self.values)) is not None:
                self._single[name] = single
        self._graphs = {name: direct.graph for name, direct in self._initial.netlists.direct.items()}
        self._chips = {name: self._surface.ports(name)[0].chip for name in (*self._direct, *self._single)}
        self._use(self._initial)

    def _held(self) -> Held:
        from ttc.runtime.machine.snapshot import Held  # most sessions never need it

        cells = {None: self._store.shared, **self._mains}
        return Held(self._program, self._initial, self.values, self._surface, cells, self._steppers)

    def _outlives(self, name: str) -> bool:
        """Return whether a program uses something that outlives its runs."""
        queues = self._surface.used(name)
        kept = any(queue in self._store.shared or self._surface.queues[queue].kind == "state" for queue in queues)
        return kept or any(result.updates is not None for result in self._surface.programs[name].results)

    def _use(self, program: Program) -> None:
        self._program = program
        self._devices = tuple(device.with_program(program, self._initial) for device in self._given_devices)
        self.forget_plans()  # after the devices: whoever finds the new dictionaries finds them, too

    def _by_short(self, name: str, called: Callable[[ShortRun], Found | None]) -> Found | None:
        """Return what a program's prepared call gives; None if it has none."""
        if self._lives.get(name):
            with self._lock:  # which `reset` and others take, too: only now it is sure which call is right
                return None if (run := self._short_of(name)) is None else called(run)
        return None if (run := self._short_of(name)) is None else called(run)

    def _short_of(self, name: str) -> ShortRun | None:
        known = self._short
        try:
            return known[name]
        except KeyError:
            found, entry = None, self._direct.get(name) or self._single.get(name)
            if entry is not None and not self._fixed:
                found = entry.short(self._plan(name, self._graphs[name]))
            return known.setdefault(name, found)

    def _plan(self, name: str, graph: str) -> Plan:
        """Return the plan of a program that is one graph."""
        plans = self._plans
        return plans.get(name) or plans.setdefault(name, plan_for(self._devices, self._chips[name], graph))

    def _alive(self) -> None:
        if self._closed:
            raise Error("E0803", "this session is closed")

    def _checked(self, name: str, inputs: Mapping[str, Any]) -> model.Program:
        entry = self.entry(name)
        if type(inputs) is not dict or inputs.keys() != self._names[name]:
            check_names(entry, inputs)
        check_values(entry, inputs, self._fixed)
        return entry

    def _main(self, name: str) -> Cells:
        with self._changed:
            return self._mains.get(name) or self._mains.setdefault(name, self._store.cells(name))

    def _wait(self, lacking: Callable[[], str | None], timeout: float, hint: str) -> None:
        """Wait until nothing is lacking.  Raises E0804 after so many seconds, E0803 once the session is closed."""
        if timeout > 0 and not self._closed and (message := lacking()) is not None:
            with stalled(message):
                self._changed.wait_for(lambda: self._closed or lacking() is None, timeout)
        self._alive()
        if (message := lacking()) is not None:
            raise Error("E0804", message if timeout == 0 else f"{message}, still after {timeout:g} s", hint=hint)

    @contextmanager
    def _leased(self, name: str) -> Iterator[Cells]:
        """Empty cells for one run."""
        free = self._pool[name]
        try:
            cells = free.pop()
        except IndexError:
            cells = self._store.cells(name)
        try:
            yield cells
        finally:
            for queue, cell in cells.items():
                if queue not in self._store.shared:
                    cell.clear()
            free.append(cells)

    @contextmanager
    def _undoing(self, cells: Cells, name: str) -> Iterator[None]:
        """Take back what a run that fails has done to queues, variables and static variables."""
        stepper = self._steppers[name]
        statics = stepper.statics.copy()
        memory = {id(cell): cell for cell in (*cells.values(), *(self.values.variables.values() if self._lives[name] else ()))}
        undo = [cell.mark() for cell in memory.values()]
        try:
            yield
        except BaseException:
            for step in undo:
                step()
            stepper.statics = statics
            raise

    def _push(self, entry: model.Program, cells: Cells, inputs: Mapping[str, Any], watch: Watch | None = None) -> None:
        entries = [entries_by_queue(a, self._surface.queues, inputs[a.name]) for a in inputs_of(entry)]
        for queue, items in (share for shares in entries for share in shares.items()):
            for item in items:
                cells[queue].push(item)
                if watch is not None:
                    watch(queue, item)

    def _execute(self, entry: model.Program, cells: Cells, params: Mapping[str, int] | None = None, watch: Watch | None = None) -> None:
        Execution(self._surface, cells, self._devices, self._alive, watch).run(self._steppers[entry.name], params)
        results = [result for result in entry.results if result.updates is not None]
        values = taken(results, cells, self._surface, UPDATES)
        updates = {str(result.updates): values[result.name] for result in results}
        parameters = self.values.update(updates)
        if parameters:
            self._use(self._program.with_parameters(parameters))

    def _popped(self, entry: model.Program, cells: Cells) -> dict[str, NDArray]:
        return taken(outputs_of(entry), cells, self._surface, USER)

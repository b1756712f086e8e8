"""A session on a program: it owns states and queues, and runs entry programs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from os import register_at_fork
from threading import RLock
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.netlist import model
from ttc.runtime.arguments import check_names, from_entries, inputs_of, outputs_of, to_entries
from ttc.runtime.contract import check_values, known_values
from ttc.runtime.cpu import starting_threads
from ttc.runtime.instructions import MAX_STEPS, run_instructions
from ttc.runtime.manifest import Description
from ttc.runtime.program import Program
from ttc.runtime.queues import QueueSet, executed_graphs
from ttc.runtime.variants import Fit, Variants

FORWARD = "forward"
"""The program that runs unless another is named."""


class Executor:
    """Runs a program; thread-safe.

    Programs without state run concurrently, each call on queues of its own.  Programs that read or change states, or update
    parameters, run one at a time; a run that fails changes nothing.
    """

    def __init__(self, program: Program) -> None:
        program.prepare()
        self._program = program
        self._initial = program
        self._states = self._initial_states()
        self._variants = Variants({name: point.program for name, point in program.netlists.points.items()}, program.description, FORWARD)
        self._fixed = known_values(program.description.fixed_inputs)
        points = program.netlists.points
        self._direct = {name: point.direct for name, point in points.items()}
        self._stateful_entries = frozenset(
            name for name, point in points.items() if point.direct is None and self._is_stateful(point.program)
        )
        self._stateful = RLock()
        self._pool: dict[str, deque[QueueSet]] = {name: deque() for name in points}
        self._closed = False
        _SESSIONS.add(self)

    @property
    def program(self) -> Program:
        """The program, with the parameters as they are now."""
        return self._program

    @property
    def netlist(self) -> model.Netlist:
        """What runs, as plain data."""
        return self._program.netlist

    @property
    def description(self) -> Description:
        """What the archive says of itself."""
        return self._program.description

    @property
    def fixed_inputs(self) -> Mapping[str, NDArray]:
        """Values of inputs that the program was compiled for; a run with another value of one raises E0806."""
        return self._fixed

    @property
    def variants(self) -> Variants:
        """The program `forward`, and those that differ from it in shapes alone."""
        return self._variants

    def fit(self, shapes: Mapping[str, tuple[int, ...]] | None, program: str | None = None, *, pad_batch: bool = False) -> Fit:
        """The entry program that runs on inputs of these shapes: the one named, else `forward` or what differs from it in shapes alone.

        shapes: None for those of `forward`.
        Raises: E0801 if no program takes them; where there is one program alone, its run says so.
        """
        if program is not None or shapes is None or not self._variants.several:
            return Fit(program or FORWARD)
        return self._variants.fit(shapes, pad=pad_batch)

    def run(self, inputs: Mapping[str, Any], program: str | None = None, *, pad_batch: bool = False) -> dict[str, NDArray]:
        """Run an entry program once.

        Args:    inputs: an array for each input, of its shape and dtype; read during the call only.
                 program: name of the entry program; None: `forward`, or the one that differs from it in shapes alone and has these.
                 pad_batch: whether, where no program has these shapes, rows are added up to the next batch of one whose samples are
                     proved independent, and cut off the results.
        Returns: the outputs by name, in order; arrays of the caller's own.
        Raises:  E0801 for inputs that do not fit, E0802 for values out of range, E0803 for an unknown program or a closed session,
                 E0806 for another value of an input than the program was compiled for, E0704 if the archive's file was changed.
        """
        if self._closed:
            raise Error("E0803", "this session is closed")
        if self._program.check is not None:
            self._program.check()
        if program is None:
            fit = self._chosen(inputs, pad_batch) if self._variants.several else None
            if fit is not None and fit.rows is not None:
                return fit.cut(self.run(fit.padded(inputs), fit.program))
            program = FORWARD if fit is None else fit.program
        entry = self._program.entry(program)
        check_names(entry, inputs)
        check_values(entry, inputs, self._fixed)
        direct = self._direct.get(program)
        if direct is not None:
            return direct.run(self._program.plans[direct.graph], inputs)
        if program not in self._stateful_entries:
            return self._run(entry, self._program, inputs, dict(self._states))[0]
        with self._stateful:
            states = dict(self._states)
            outputs, updates = self._run(entry, self._program, inputs, states)
            self._commit(states, updates)
            return outputs

    def _chosen(self, inputs: Mapping[str, Any], pad_batch: bool) -> Fit:
        check_names(self._program.entry(FORWARD), inputs)
        return self._variants.fit({name: np.shape(value) for name, value in inputs.items()}, pad=pad_batch)

    def run_many(self, many: Iterable[Mapping[str, Any]], program: str | None = None) -> Iterator[dict[str, NDArray]]:
        """Run an entry program on one set of inputs after another; gives the outputs of each, in order.

        While one set is computed, the next is fetched, checked and copied.  Inputs are copied before the next are asked for, so that
        whoever makes them may use the same arrays again.  At most two sets are held beside the one being computed.
        Raises: as `run` does, when the outputs of the set are asked for.
        """
        copies = ({name: deepcopy(value) for name, value in inputs.items()} for inputs in many)
        with ThreadPoolExecutor(1, "ttc-stream") as worker:
            waiting: deque[Future[dict[str, NDArray]]] = deque()
            try:
                for inputs in copies:
                    with starting_threads():
                        waiting.append(worker.submit(self.run, inputs, program))
                    if len(waiting) > 2:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def __call__(self, *arrays: Any, program: str | None = None) -> tuple[NDArray, ...]:
        """Run with inputs in the order of the program's arguments; gives its outputs in order.  Raises as `run` does."""
        names = [a.name for a in inputs_of(self._program.entry(program or FORWARD))]
        if len(arrays) != len(names):
            raise Error(
                "E0801",
                f"program '{program or FORWARD}' takes {len(names)} inputs, not {len(arrays)}",
                hint=f"in order: {', '.join(names)}",
            )
        return tuple(self.run(dict(zip(names, arrays, strict=True)), program).values())

    def states(self) -> dict[str, NDArray]:
        """Copies of the states by name, in the dtypes of the model."""
        with self._stateful:
            variables = self._program.description.states
            return {
                name: np.array(self._states[str(v.key)], np.dtype(v.dtype), copy=True).reshape(v.shape) for name, v in variables.items()
            }

    def reset(self) -> None:
        """Give states and parameters the values they had at the start."""
        with self._stateful:
            self._program = self._initial
            self._states = self._initial_states()

    def close(self) -> None:
        """Give up queues; further runs raise E0803."""
        self._closed = True
        for free in self._pool.values():
            free.clear()

    def renew(self) -> None:
        """In a forked process: without the lock of a thread that is not there."""
        self._stateful = RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _initial_states(self) -> dict[str, NDArray]:
        keys = [str(v.key) for v in self._initial.description.states.values()]
        return {key: self._initial.constants[key] for key in keys}

    def _is_stateful(self, entry: model.Program) -> bool:
        netlist = self._program.executed
        graphs = [netlist.graphs[name] for name in executed_graphs(entry)]
        names = {name for graph in graphs for op in graph.ops for name in op.inputs}
        names |= {queue for graph in graphs for _, queue in graph.writes} | {r.queue for r in entry.results}
        touched = any(name in netlist.queues and netlist.queues[name].kind == "state" for name in names)
        return touched or any(result.updates is not None for result in entry.results)

    def _run(
        self, entry: model.Program, program: Program, inputs: Mapping[str, Any], states: dict[str, NDArray]
    ) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Run on leased queues.  states: by key, changed in place.  Returns outputs by name, and new values by what they update."""
        netlist = program.executed
        with self._lease(entry, program) as queues:
            queues.start(states)
            for argument in inputs_of(entry):
                for item in to_entries(argument, netlist.queues[argument.queue], inputs[argument.name]):
                    queues[argument.queue].push(item)
            run_instructions(entry.instructions, _GraphRunner(program, queues))
            found = {queue: queues[queue].drain() for queue in dict.fromkeys(r.queue for r in entry.results)}
            states.update({key: _private(value) for key, value in queues.states().items() if value is not states.get(key)})
            updates = {r.updates: from_entries(r, found[r.queue]) for r in entry.results if r.updates is not None}
            return {r.name: from_entries(r, found[r.queue]) for r in outputs_of(entry)}, updates

    def _commit(self, states: dict[str, NDArray], updates: Mapping[str, NDArray]) -> None:
        """Make the outcome of a run the present; all or nothing."""
        description = self._program.description
        parameters: dict[str, NDArray] = {}
        for name, value in updates.items():
            if name in description.states:
                key = str(description.states[name].key)
                states[key] = _stored_state(value, self._initial.constants[key], self._initial.constants.sources[key].format)
            else:
                parameters[name] = value
        if parameters:
            self._program = self._program.with_parameters(parameters)
        self._states = states

    @contextmanager
    def _lease(self, entry: model.Program, program: Program) -> Iterator[QueueSet]:
        free = self._pool[entry.name]
        try:
            queues = free.pop()
        except IndexError:
            queues = QueueSet(program.executed, entry)
        try:
            yield queues
        finally:
            queues.clear()
            free.append(queues)


_SESSIONS: WeakSet[Executor] = WeakSet()


def _after_fork() -> None:
    for session in _SESSIONS:
        session.renew()


register_at_fork(after_in_child=_after_fork)


class _GraphRunner:
    """Executes graphs of a program on queues; called by the instructions with the name of a graph."""

    def __init__(self, program: Program, queues: QueueSet) -> None:
        self._program = program
        self._queues = queues
        self._microbatches = 0

    def __call__(self, name: str) -> None:
        graph = self._program.executed.graphs[name]
        plan = self._program.plans[name]
        bound = self._queues.bound(name)
        self._microbatches += graph.input_count
        if self._microbatches > MAX_STEPS:
            raise Error("E0608", f"the program does not end within {MAX_STEPS} microbatches")
        for _ in range(graph.input_count):
            written = plan.run({queue: self._queues[queue].pop(name) for queue in bound})
            for queue, value in written.items():
                self._queues[queue].push(value)


def _private(value: NDArray) -> NDArray:
    """A copy that nobody can change: what a graph writes may be an array of the caller."""
    copy = value.copy()
    copy.flags.writeable = False
    return copy


def _stored_state(value: NDArray, old: NDArray, format: str) -> NDArray:
    """A state's new value as its tensor holds it.  Raises E0602 if it has another number of elements."""
    if value.size != old.size:
        raise Error("E0602", f"a state of shape {list(old.shape)} is updated with {list(value.shape)}")
    format_ = format_named(format)
    stored = format_.round(value.astype(format_.compute)).reshape(old.shape)
    stored.flags.writeable = False
    return stored

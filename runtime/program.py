"""A compiled program: immutable, shared by every session that runs it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from importlib import import_module
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.dialects.netlist import model
from ttc.dialects.netlist.model import Netlist
from ttc.runtime.archive import write_archive
from ttc.runtime.cpu import checked_threads
from ttc.runtime.derive import Derivation, check_parameters, check_states
from ttc.runtime.engines.base import Engine, Plan, RemembersPlans, held_keys
from ttc.runtime.engines.table import Exact, engine_named
from ttc.runtime.manifest import Description
from ttc.runtime.netlists import Netlists
from ttc.runtime.program_checks import check_program
from ttc.runtime.tensors import Constants, TensorSource

NOTEBOOK = "ttc.view.notebook"
"""The module that draws programs: it lies on a floor above, and is loaded when a user asks a program for its picture."""


def _notebook() -> Any:
    """Return what draws programs.  Raises E0104 where the runtime is installed alone."""
    try:
        return import_module(NOTEBOOK)
    except ModuleNotFoundError:
        raise Error("E0104", "the runtime alone draws no pages", hint="pip install ttc") from None


class Plans:
    """Plans of a program's graphs, each made when first asked for.  Thread-safe.

    Args:
        ready: plans that are there.
        key: gives what determines the program and all values that plans depend on, by which an engine keeps each plan for other
            processes; None from it, or in its place: plans are not kept.
    """

    def __init__(
        self,
        engine: Engine,
        netlists: Netlists,
        constants: Constants,
        ready: Mapping[str, Plan] | None = None,
        key: Callable[[], str | None] | None = None,
    ) -> None:
        self.engine = engine
        self.key = key
        self._netlists = netlists
        self._constants = constants
        self._ready: dict[str, Plan] = dict(ready or {})
        self._lock = Lock()

    def make_all(self) -> None:
        """Make the plans of all graphs that programs execute now."""
        for graph in self._netlists.surface.graphs:
            self[graph]

    def __getitem__(self, graph: str) -> Plan:
        ready = self._ready.get(graph)  # without the lock, which a child process may be forked with
        if ready is not None:
            return ready
        with self._lock:
            found = self._ready.get(graph)
            if found is None:
                found = self._ready[graph] = self._made(graph)
            return found

    def _made(self, graph: str) -> Plan:
        """Return the plan of a graph, as an earlier process left it if that can be."""
        key = None if self.key is None else self.key()
        if key is None or not isinstance(self.engine, RemembersPlans):
            return self._prepared(graph)
        keeper, name = self.engine, f"{key} {graph}"
        found = self._recalled(keeper, name, graph)
        if found is None and keeper.keep(name, graph, self._executed, self._constants):
            found = self._recalled(keeper, name, graph)
        if found is None:
            found = self._prepared(graph)
            keeper.remember(name, "", {graph: found})
        return found

    def _recalled(self, keeper: RemembersPlans, name: str, graph: str) -> Plan | None:
        kept = keeper.recall(name, self._executed, self._constants)
        return None if kept is None else kept[1].get(graph)

    def _executed(self) -> Netlist:
        return self._netlists.executed

    def _prepared(self, graph: str) -> Plan:
        netlist = self._executed()
        return self.engine.prepare(netlist.graphs[graph], netlist, self._constants)

    def with_constants(self, constants: Constants, changed: Iterable[str]) -> Plans:
        """Return plans over other constants; those of graphs that read none of the changed keys are shared."""
        keys, netlist = set(changed), self._netlists.executed
        with self._lock:
            kept = {n: p for n, p in self._ready.items() if keys.isdisjoint(held_keys(netlist.graphs[n], netlist))}
        return Plans(self.engine, self._netlists, constants, kept)


@record
class Program:
    """A checked netlist with its tensors and the plans of an engine; make it with `build_program`.

    Args:
        parameters: values given by `with_parameters` since it was compiled.
        check: called before each run; raises where what the constants are mapped from is no longer what it was.
        texts: gives those that archives of it hold beside the netlist, by file name; nothing that runs reads them.
    """

    netlists: Netlists
    description: Description
    constants: Constants
    plans: Plans
    parameters: Mapping[str, NDArray] = field(default_factory=dict)
    check: Callable[[], None] | None = None
    texts: Callable[[], Mapping[str, str]] = dict

    @property
    def netlist(self) -> Netlist:
        """The netlist as it was compiled."""
        return self.netlists.whole

    def entry(self, name: str) -> model.Program:
        """Return the entry program of that name.  Raises E0803."""
        programs = self.netlists.surface.programs
        if name not in programs:
            raise Error("E0803", f"there is no program '{name}'", hint=nearest(name, programs))
        return programs[name]

    def prepare(self) -> None:
        """Make the plans of all graphs now."""
        self.plans.make_all()

    def with_parameters(self, values: Mapping[str, NDArray]) -> Program:
        """Return this program with new values for some parameters of the model.

        Stored tensors that depend on them are computed anew from the recorded expressions; everything else is shared.
        Raises:  E0801 for an unknown parameter, a wrong shape or type, or a tensor that also depends on parameters not at hand.
        """
        parameters = {**self.parameters, **check_parameters(self.description, values)}
        changes = Derivation(self.description, self.constants, parameters).changes()
        constants = self.constants.replaced(changes)
        plans = self.plans.with_constants(constants, changes)
        return replace(self, constants=constants, plans=plans, parameters=parameters)

    def with_states(self, values: Mapping[str, NDArray]) -> Program:
        """Return this program with other first values of states.

        Raises:  E0801 for an unknown state, a wrong shape or type.
        """
        changes: dict[str, TensorSource] = {}
        for name, value in check_states(self.description, values).items():
            key = str(self.description.states[name].key)
            old = self.constants.sources[key]
            changes[key] = TensorSource.of_array(value.reshape(old.shape), old.format)
        return replace(self, constants=self.constants.replaced(changes))

    def on(self, engine: Engine) -> Program:
        """Return this program on another engine."""
        netlists = self.netlists
        if engine.joins_graphs != self.plans.engine.joins_graphs:
            netlists = Netlists(lambda: self.netlist, self.description, joins=engine.joins_graphs)
        return replace(self, netlists=netlists, plans=Plans(engine, netlists, self.constants, key=self.plans.key))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the archive of this program.  Raises E0103."""
        write_archive(path, netlist=self.netlist, tensors=self.constants.sources, description=self.description, debug=self.texts())

    def view(self, dump: str | os.PathLike[str] | None = None) -> Any:
        """Return the page of this program, which a notebook shows, and which `.save(path)` writes as one HTML file.

        dump: folder that `ttc.compile(..., dump=folder)` wrote; with it stages and passes are shown, too.
        Raises:  E0102, E0103, E0301.
        """
        return _notebook().page_of(self, dump)

    def _repr_html_(self) -> str:
        """Return the program in a few lines, as notebooks show it."""
        return _notebook().summary_html(self)


def build_program(
    netlist: Netlist,
    description: Description,
    tensors: Mapping[str, TensorSource],
    *,
    engine: str | Engine | None = None,
    threads: int | None = None,
    exact: Exact | None = None,
    texts: Callable[[], Mapping[str, str]] = dict,
) -> Program:
    """Check a netlist with its tensors and make a program of them.

    Args:    engine: the engine, or its name, None for the one that fits; threads: that it may use, None for one a core.
             exact: computes as the device does.  texts: gives those that its archives hold, by file name.
    Raises:  E0101 for a number of threads below 1, or more than 4 a CPU, E0803 for an unknown engine, E06xx or E0703 for what does not fit.
    """
    chosen = engine_named(engine, checked_threads(threads), exact) if engine is None or isinstance(engine, str) else engine
    check_program(netlist, description, tensors)
    constants = Constants(tensors)
    netlists = Netlists(lambda: netlist, description, joins=chosen.joins_graphs)
    return Program(netlists, description, constants, Plans(chosen, netlists, constants), texts=texts)

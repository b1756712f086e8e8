"""Graphs that read and write states, for tests of plans that write into the caller's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.runtime.conftest import Builder
from tests.runtime.engines.native.programs import Step, typed_ops
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.model import Netlist
from ttc.runtime.engines.base import Engine, Plan
from ttc.runtime.engines.exact.engine import ExactEngine
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.tensors import Constants, TensorSource

ENGINES: dict[str, Engine] = {"reference": ReferenceEngine(), "exact": ExactEngine(), "native": NativeEngine(2)}


@dataclass(frozen=True)
class Stateful:
    """One graph over states.

    Args:
        entries: types of the queues that it reads; those that `updates` names are states.
        steps: its ops.
        updates: the op that gives the next value of each state.
        outputs: the op of each further result.
        held: values and formats of constants.
    """

    entries: Mapping[str, TensorType]
    steps: Sequence[Step]
    updates: Mapping[str, str]
    outputs: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, tuple[NDArray, str]] = field(default_factory=dict)

    def netlist(self) -> Netlist:
        """The graph `g`; the next value of a state `s` is an entry of queue `s.next`."""
        b = Builder()
        for name, type_ in self.entries.items():
            state = name in self.updates
            b.queue(name, "state" if state else "input", type_, key=name if state else None)
        types = {**self.entries, **{name: TensorType(value.shape, format) for name, (value, format) in self.held.items()}}
        for name in self.held:
            b.queue(name, "constant", types[name], key=name)
        ops = typed_ops(self.steps, types)
        writes = [*((source, f"{name}.next") for name, source in self.updates.items()), *((s, name) for name, s in self.outputs.items())]
        for source, queue in writes:
            b.queue(queue, "output", types[source], source=source)
        b.graph("g", ops, writes)
        return b.netlist()

    def plan(self, engine: Engine) -> Plan:
        """The graph on an engine."""
        netlist = self.netlist()
        held = {name: TensorSource.of_array(value, format) for name, (value, format) in self.held.items()}
        return engine.prepare(netlist.graphs["g"], netlist, Constants(held))

    def updated(self, plan: Plan, entries: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """The results of a run that writes next values over the states, by name of state or output."""
        into = {f"{name}.next": entries[name] for name in self.updates}
        found = plan.run(entries, into)
        assert all(found[f"{name}.next"] is entries[name] for name in self.updates)
        return {queue.removesuffix(".next"): value for queue, value in found.items()}

    def expected(self, entries: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """What the reference engine finds in memory of its own, by name of state or output."""
        found = self.plan(ReferenceEngine()).run({name: value.copy() for name, value in entries.items()})
        return {queue.removesuffix(".next"): value for queue, value in found.items()}

    def is_right(self, engine: Engine, entries: Mapping[str, NDArray], runs: int = 3) -> None:
        """Run several times over the same states, and compare every result with the reference engine's."""
        plan = self.plan(engine)
        for _ in range(runs):
            expected = self.expected(entries)
            found = self.updated(plan, entries)
            assert found.keys() == expected.keys()
            for name, value in expected.items():
                assert (found[name].shape, found[name].dtype) == (value.shape, value.dtype)
                np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)

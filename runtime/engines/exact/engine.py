"""The exact engine: the reference engine with the device's arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from numpy.typing import NDArray

from ttc.dialects.core.plain.evaluate import evaluate
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Graph, Host, Netlist, Op
from ttc.runtime.engines.exact import RULES
from ttc.runtime.engines.exact.core import Core, Rule, noise_of
from ttc.runtime.engines.reference import ReferencePlan, plan_of
from ttc.runtime.tensors import Constants


@record
class ExactEngine:
    """Computes as the device does: fidelity phases, unpacking, accumulation, packing.  Ops on the host are computed as ever.

    Args:
        seed: of stochastic rounding; None rounds to nearest.
    """

    seed: int | None = None
    name: str = "reference"
    joins_graphs: bool = False

    def prepare(self, graph: Graph, netlist: Netlist, constants: Constants) -> ExactPlan:
        """Prepare a graph as the reference engine does.  Raises E0601, E0609."""
        plan = plan_of(graph, netlist, constants)
        return ExactPlan(plan.graph, plan.held, plan.dying, plan.constants, plan.kin, self.seed)


@record
class ExactPlan(ReferencePlan):
    """A graph whose ops run one after the other with the device's arithmetic."""

    seed: int | None = None
    rules: dict[str, Rule] = field(default_factory=RULES.rules)

    def compute(self, op: Op, inputs: Sequence[NDArray]) -> NDArray:
        """Return the result of one op."""
        if isinstance(op.place, Host):
            return super().compute(op, inputs)
        core = Core(op, self.rules, noise_of(self.seed, op, inputs))
        return evaluate(op.work, inputs, self.constant, " + ".join(op.location) or op.name, core.execute)[0]

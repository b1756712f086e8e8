"""A region of a loop or branch that has a plan: its op calls it as it calls one that is interpreted."""

from __future__ import annotations

from numpy.typing import NDArray

from ttc.dialects.core.plain.functions import Function
from ttc.dialects.core.plain.interpret import RegionBody
from ttc.dialects.core.records import record
from ttc.runtime.engines.base import Plan, PrintedPlan, ShortRun


@record(eq=False)
class PlannedBody(RegionBody):
    """A region whose ops run by the plan of their graph.

    Args:
        plan: of the graph.
        given: inputs that the graph reads and that are not constants: their numbers and queues.
        made: queues of the outputs.
        short: runs the plan by one prepared call, if it can be.
    """

    function: Function
    plan: Plan
    given: tuple[tuple[int, str], ...]
    made: tuple[str, ...]
    short: ShortRun | None

    def __call__(self, *values: NDArray) -> list[NDArray]:
        self.require(values)
        entries = {queue: values[number] for number, queue in self.given}
        found = None if self.short is None else self.short(entries)
        if found is None:
            found = self.plan.run(entries)
        return [found[queue] for queue in self.made]

    def text(self) -> str:
        return self.plan.text() if isinstance(self.plan, PrintedPlan) else ""

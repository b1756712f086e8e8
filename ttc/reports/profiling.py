"""Where the time of a run goes, job by job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.runtime.engines.base import Plan, ProfiledPlan, Timed
from ttc.runtime.executor import FORWARD, Executor
from ttc.runtime.program import Plans, Program
from ttc.runtime.tensors import Constants


@dataclass
class Profile:
    """The profile of one run: for each microbatch of each graph, in order, the graph's name and its jobs."""

    graphs: list[tuple[str, list[Timed]]] = field(default_factory=list)

    @property
    def jobs(self) -> list[Timed]:
        """The jobs of all graphs."""
        return [job for _, jobs in self.graphs for job in jobs]


def profile(program: Program, inputs: Mapping[str, Any], entry: str = FORWARD, *, runs: int = 1) -> list[Profile]:
    """Run an entry program so many times, from its initial states, and time its jobs.

    Raises E0803 for an engine that cannot tell, and as `Executor.run` does.
    """
    found: list[Profile] = []
    with Executor(replace(program, plans=_Recorder(program.plans, found))) as session:
        for _ in range(runs):
            found.append(Profile())
            session.run(inputs, entry)
    return found


class _Recorder(Plans):
    """Plans that note the jobs of each run of theirs in the last of the profiles."""

    def __init__(self, plans: Plans, profiles: list[Profile]) -> None:
        self._plans = plans
        self._profiles = profiles

    def __getitem__(self, graph: str) -> Plan:
        plan = self._plans[graph]
        if not isinstance(plan, ProfiledPlan):
            raise Error("E0803", "this engine does not tell where its time goes", hint="another one may: --engine")
        return _RecordedPlan(graph, plan, self._profiles)

    def make_all(self) -> None:
        """Make the plans of the program itself."""
        self._plans.make_all()

    def with_constants(self, constants: Constants, changed: Iterable[str]) -> Plans:
        """Plans of another program, whose jobs are noted as well."""
        return _Recorder(self._plans.with_constants(constants, changed), self._profiles)


@record
class _RecordedPlan:
    graph: str
    plan: ProfiledPlan
    profiles: list[Profile]

    def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
        """Run the plan, and note its jobs; see `Plan.run`."""
        found, jobs = self.plan.timed(entries, into)
        self.profiles[-1].graphs.append((self.graph, jobs))
        return found

"""The epochs and places of one device graph after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ttc.dialects.core.rules.placement import PlacementRule
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, QueueOp, queues_of
from ttc.passes.base import Rewriter, Unit
from ttc.passes.netlist.chip_shares import ChipShares, is_shared
from ttc.passes.netlist.nodes import ProblemBuilder
from ttc.passes.netlist.overrides import Overrides
from ttc.passes.netlist.reasons import considered, decided
from ttc.passes.netlist.split_graph import Splitter
from ttc.passes.netlist.trial import Trial
from ttc.passes.tile_to_netlist.epochs import EFFORTS, EpochRange, cut
from ttc.passes.tile_to_netlist.problem import Problem
from ttc.runtime.perf.ports import has_ways
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.reads import ReadTable

BOTH_WAYS = 512
"""The most ops of a graph that is cut into epochs twice: with weights that come before ops begin, and beside them."""
LADDER = 2
"""The effort from which on the searches of all lower efforts are made too, and the best result is taken."""


class Balancer:
    """Cuts device graphs into epochs and places their ops, as pass `balance` says.

    Args:
        effort: from 0 to 2.
        rules: what the user asks of single ops.
        chips: of all groups that take epochs in turn, one group after another.
        turns: how many groups there are.
    """

    def __init__(
        self, unit: Unit, rewriter: Rewriter, effort: int, rules: tuple[PlacementRule, ...], chips: Sequence[int] = (), turns: int = 1
    ) -> None:
        self.unit = unit
        self.rewriter = rewriter
        self.shared = False
        self.turns = turns
        size = len(chips) // turns
        self.groups = [chips[begin : begin + size] for begin in range(0, len(chips), size)] if size else []
        efforts = (effort,) if effort < LADDER else range(effort + 1)
        self.builders = [ProblemBuilder(unit, Overrides(rules, effort), turns) for effort in efforts]

    @property
    def overrides(self) -> Overrides:
        """The rules, with those that matched an op."""
        return self.builders[-1].overrides

    def place(self, graph: GraphOp) -> None:
        """Place the ops of a device graph; where it is cut, graphs follow it.  Raises E05xx."""
        rewriter = self.rewriter
        shares = ChipShares(self.unit, graph) if is_shared(graph, self.unit.target.chips) else None
        self.shared |= shares is not None
        pattern = graph if shares is None else shares.pattern
        limits = {i: self.overrides.limits(op) for i, op in enumerate(pattern.ops)} if self.overrides.rules else {}
        queues = queues_of(self.unit.module)
        reads, steps = ReadTable(), {} if shares is None else shares.steps
        trials = [Trial(self.unit, pattern, pattern.ops, queues, limits, loads, steps, reads=reads) for loads in self.loadings(graph)]
        found = [self.solved(builder, pattern, trial) for trial in trials for builder in self.builders]
        problem, epochs = min(found, key=lambda solution: sum(epoch.cycles for epoch in solution[1]))
        if problem.loads:
            self.load(graph, queues, [sum(epoch.cycles for epoch in epochs) for _, epochs in found])
        self.overlapping(graph, epochs)
        with rewriter.part("assign"):
            for ops in [graph.ops] if shares is None else shares.lists:
                _assign(ops, problem, epochs, rewriter)
        if (len(epochs) > 1 or shares is not None) and rewriter.allow("cut-epochs", graph, required=True):
            with rewriter.part("cut"):
                sizes = [len(e.ops) for e in epochs]
                if shares is None:
                    Splitter(self.unit.module, graph).split(sizes)
                else:
                    shares.cut(sizes, self.groups)

    def overlapping(self, graph: GraphOp, epochs: Sequence[EpochRange]) -> None:
        """Remark what is gained as each core goes on to its next epoch by itself."""
        start = rates_of(self.unit.target).start_cycles
        alone = [epoch.timing.alone(start) for epoch in epochs if epoch.timing is not None]
        if len(alone) > 1 and self.turns == 1:
            together, apart = sum(epoch.cycles for epoch in epochs), sum(alone)
            message = f"{len(alone)} epochs that overlap take {together:,.0f} cycles, and {apart:,.0f} one after another"
            self.rewriter.analysis(graph, message, cycles=together, apart=apart)

    def solved(self, builder: ProblemBuilder, graph: GraphOp, trial: Trial) -> tuple[Problem, list[EpochRange]]:
        """Return a graph's problem and the epochs found for it."""
        with self.rewriter.part("candidates"):
            problem = builder.problem(graph)
        with self.rewriter.part("epochs"):
            problem = replace(problem, loads=trial.loads, divided=bool(trial.steps))
            return problem, cut(problem, EFFORTS[builder.overrides.effort], trial.judge, trial.review)

    def loadings(self, graph: GraphOp) -> tuple[bool, ...]:
        """Return what is tried: that weights of a single microbatch come while it passes, or before, where that is known to differ."""
        target = self.unit.target
        both = graph.input_count == 1 and self.turns == 1 and target.kernels == "fused" and has_ways(target) and len(graph.ops) <= BOTH_WAYS
        return (False, True) if both else (False,)

    def load(self, graph: GraphOp, queues: Mapping[str, QueueOp], cycles: Sequence[float]) -> None:
        """Say that weights of a graph with one microbatch are loaded before it.

        cycles: of all runs that were found, those with loads last.
        """
        if not self.rewriter.allow("load-before", graph, required=True):
            return
        for read in graph.reads:
            if queues[read.queue].type == "ram":
                queues[read.queue].ports = ()
        before, beside = (min(part) for part in (cycles[len(cycles) // 2 :], cycles[: len(cycles) // 2]))
        message = f"weights are loaded before ops begin: {before:,.0f} cycles, and {beside:,.0f} where they come while ops compute"
        self.rewriter.applied(graph, message, before=before, beside=beside)


def _assign(ops: Sequence[NetlistOp | None], problem: Problem, epochs: list[EpochRange], rewriter: Rewriter) -> None:
    """Write down what was chosen, with remarks on what else was considered."""
    for number, epoch in enumerate(epochs):
        for op, node, entry in zip(ops[epoch.begin :], problem.nodes[epoch.begin :], epoch.ops, strict=False):
            candidate = entry.candidate
            if op is None or not rewriter.allow("place-op", op, required=True):
                continue
            op.place = entry.place
            op.blocking = candidate.blocking
            op.buffers = entry.buffers
            op.inner = candidate.inner
            op.cycles = candidate.cycles
            rewriter.analysis(
                op,
                f"epoch {number}: {candidate.text}, {candidate.busy:,} cycles a microbatch; {decided(candidate, epoch)}",
                cores=candidate.cores,
                cycles=candidate.busy,
                l1_bytes=sum(b.size_bytes for b in entry.buffers),
                candidates=considered(node.found, candidate, epoch, problem),
            )

"""The stages of a program, one for each chip, by the estimate of placement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.placement import PlacementRule
from ttc.dialects.netlist.ops import ExecuteOp, LoopOp, ProgramOp, graphs_of, queues_of
from ttc.passes.base import Rewriter, Unit
from ttc.passes.netlist.chip_stages import balanced, rounds
from ttc.passes.netlist.nodes import ProblemBuilder
from ttc.passes.netlist.overrides import Overrides, breaks, op_names
from ttc.passes.netlist.split_graph import Splitter
from ttc.passes.netlist.view import on_host
from ttc.passes.tile_to_netlist.epochs import EFFORTS, cut
from ttc.passes.tile_to_netlist.problem import Problem, ProblemNode
from ttc.runtime.perf.rates import rates_of


@record(frozen=False)
class ChipAssigner:
    """Spreads one program over chips, as pass `assign-chips` says.

    Args:
        chips: in the order of the stages, each linked to the next.
        rules: of placement; of these, where a chip is to begin.
    """

    unit: Unit
    rewriter: Rewriter
    program: ProgramOp
    chips: tuple[int, ...]
    rules: tuple[PlacementRule, ...]

    def __post_init__(self) -> None:
        graphs = graphs_of(self.unit.module)
        executed = dict.fromkeys(op.graph for op in self.program.walk() if isinstance(op, ExecuteOp))
        self.executed = [graphs[name] for name in executed]
        self.graphs = [graph for graph in self.executed if not on_host(graph)]
        self.ops = [op for graph in self.graphs for op in graph.ops]

    def assign(self) -> None:
        """Give every device graph of the program its chip, cut where stages meet."""
        chips, begins = self.chips, self.breaks()
        for graph in self.graphs:
            graph.chip = chips[0]
        if len(chips) == 1 or not self.ops:
            return
        if self.has_states():
            if begins:
                message = f"no chip can begin at '{op_names(self.ops[min(begins)])[0]}': the program has states, which lie on one chip"
                raise Error("E0504", message, where=f"program '{self.program.sym}'")
            self.rewriter.missed(self.program, f"stays on chip {chips[0]}: it has states, which lie on one chip")
            return
        builder = ProblemBuilder(self.unit, Overrides(self.rules, 0))
        problems = [builder.problem(graph) for graph in self.graphs]
        times = _Times(problems, _narrowest(self.unit.target, chips))
        sizes, found = balanced(times.weights(), len(chips), begins, times.stage, times.crossing)
        if len(sizes) < len(chips):
            idle, ops = len(chips) - len(sizes), f"{len(self.ops)} op{'' if len(self.ops) == 1 else 's'}"
            self.rewriter.missed(self.program, f"{idle} of {len(chips)} chips would not make the slowest stage of its {ops} shorter")
        if not self.rewriter.allow("spread-program", self.program):
            return
        self.cut(sizes)
        self.stream(found, times.fixed(sizes))
        self.remark(sizes, found)

    def has_states(self) -> bool:
        """Return whether the program reads or updates states."""
        queues = queues_of(self.unit.module)
        ports = [port.queue for graph in self.executed for port in (*graph.reads, *graph.writes)]
        return any(queues[name].kind == "state" for name in ports) or any(r.kind == "state" for r in self.program.outputs)

    def breaks(self) -> set[int]:
        """Return the numbers of ops that must begin a chip. Raises E0504 for more than chips allow."""
        found = breaks(self.rules, self.ops, "chip_break") - {0}
        have = len(self.chips)
        if len(found) >= have:
            names = ", ".join(f"'{op_names(self.ops[number])[0]}'" for number in sorted(found)[:4])
            message = f"chips begin at {names}: that makes {len(found) + 1} stages, for {'1 chip' if have == 1 else f'{have} chips'}"
            raise Error("E0504", message, hint=f"--chips {len(found) + 1}")
        return found

    def cut(self, sizes: Sequence[int]) -> None:
        """Cut graphs where stages meet, and give each piece the chip of its stage."""
        stages = [stage for stage, size in enumerate(sizes) for _ in range(size)]
        position = 0
        for graph in self.graphs:
            mine = stages[position : position + len(graph.ops)]
            position += len(mine)
            kinds = sorted(set(mine))
            names = list(graphs_of(self.unit.module))
            if len(kinds) > 1:
                Splitter(self.unit.module, graph).split([mine.count(stage) for stage in kinds])
            graphs = list(graphs_of(self.unit.module).values())
            first = names.index(graph.sym)
            for piece, stage in zip(graphs[first : first + len(kinds)], kinds, strict=True):
                piece.chip = self.chips[stage]

    def stream(self, times: Sequence[float], fixed: Sequence[float]) -> None:
        """Run the program's graphs in rounds over parts of the batch, if that keeps more chips at work."""
        executes = [op for op in self.program.block.ops if isinstance(op, ExecuteOp)]
        graphs = graphs_of(self.unit.module)
        counts = {graphs[op.graph].input_count for op in executes}
        if len(counts) != 1 or len(executes) != len(list(self.program.block.ops)) or len(times) < 2:
            return
        count = counts.pop()
        turns = rounds(times, fixed, count)
        if turns == 1 or not self.rewriter.allow("stream-in-rounds", self.program):
            return
        loop = LoopOp.build(turns)
        self.program.add(loop)
        for op in executes:
            graphs[op.graph].input_count = count // turns
            op.detach()
            loop.add(op)

    def remark(self, sizes: Sequence[int], times: Sequence[float]) -> None:
        """Say where each stage begins, and what it takes."""
        position = 0
        for chip, size, time in zip(self.chips, sizes, times, strict=False):
            first = self.ops[position]
            message = f"begins on chip {chip}: {size} ops, about {int(time):,} cycles"
            self.rewriter.analysis(first, message, chip=chip, ops=size, cycles=int(time))
            position += size


def _narrowest(target: Target, chips: Sequence[int]) -> int:
    """Ethernet links of the narrowest step from chip to chip."""
    counts = {(a, b): count for a, b, count in target.links}
    return min(counts.get((min(pair), max(pair)), 1) for pair in zip(chips, chips[1:], strict=False))


class _Times:
    """What stages of the ops of several graphs, one after another, take by the quick estimate of placement.

    crossing: cycles in which Ethernet carries what passes a border before each op, all microbatches.
    """

    def __init__(self, problems: Sequence[Problem], links: int) -> None:
        self.problems = problems
        self.crossing = [cycles for problem in problems for cycles in _crossing(problem, links)]
        self.known: dict[tuple[int, int], tuple[float, float]] = {}

    def weights(self) -> list[float]:
        """Return an estimate for each op: its part of the time of the epoch it is in on a single chip."""
        found: list[float] = []
        for problem in self.problems:
            for epoch in cut(problem, EFFORTS[0]):
                work = [placed.candidate.busy * placed.candidate.cores for placed in epoch.ops]
                found += [epoch.cycles * w / max(sum(work), 1) for w in work]
        return found

    def stage(self, begin: int, end: int) -> float:
        """Cycles of ops [begin, end) on one chip, all microbatches; longer if Ethernet is not through when the last epoch is."""
        return self.measure(begin, end)[0]

    def fixed(self, sizes: Sequence[int]) -> list[float]:
        """Return cycles of each stage that do not grow with microbatches: switches between epochs, and the first one's way through each."""
        bounds = [(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]
        return [self.measure(begin, end)[1] for begin, end in bounds]

    def measure(self, begin: int, end: int) -> tuple[float, float]:
        """Return cycles of a stage, and those of them that do not grow with microbatches."""
        if (begin, end) not in self.known:
            total = fixed = last = 0.0
            position = 0
            for problem in self.problems:
                low, high = max(begin - position, 0), min(end - position, len(problem.nodes))
                position += len(problem.nodes)
                epochs = cut(_part(problem, low, high), EFFORTS[0]) if low < high else []
                total += sum(epoch.cycles for epoch in epochs)
                first = sum(placed.candidate.busy for epoch in epochs for placed in epoch.ops)
                rates = rates_of(problem.target)
                fixed += sum(rates.switch_of(sum(placed.candidate.cores for placed in epoch.ops)) for epoch in epochs) + first
                last = epochs[-1].cycles if epochs else last
            carried = self.crossing[end] if end < len(self.crossing) else 0.0
            self.known[begin, end] = total + max(carried - last, 0.0), fixed
        return self.known[begin, end]


def _crossing(problem: Problem, links: int) -> list[float]:
    """Return cycles in which so many Ethernet links carry the results that ops before each op pass to it and those behind it."""
    changes = [0] * (len(problem.nodes) + 1)
    for number, last in enumerate(problem.last_reader):
        if last > number:
            changes[number + 1] += problem.nodes[number].result_bytes
            changes[last + 1] -= problem.nodes[number].result_bytes
    rate = max(problem.target.eth_bytes_per_cycle * links, 1e-9)
    return [held * problem.input_count / rate for held in accumulate(changes[:-1])]


def _part(problem: Problem, begin: int, end: int) -> Problem:
    """The problem of ops [begin, end) alone: what crosses its borders goes through queues."""

    def node(number: int) -> ProblemNode:
        whole = problem.nodes[number]
        outside = sum(problem.nodes[source].result_bytes for source in whole.reads if source < begin)
        return replace(
            whole,
            reads=tuple(source - begin for source in whole.reads if source >= begin),
            queue_bytes=whole.queue_bytes + outside,
            stored=whole.stored or problem.last_reader[number] >= end,
        )

    return replace(problem, nodes=[node(number) for number in range(begin, end)])

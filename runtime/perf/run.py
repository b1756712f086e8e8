"""The cost of a program of a placed netlist: its epochs one after another, switches between them, and the host's transfers.

Epochs on one chip run one after another, each core by itself (`clock`); graphs of one epoch run together, each on its chip.  The host
fills and empties queues while the device runs.  Replicas of a program compute their parts of the batch at the same time; one of them is
costed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.netlist.model import Graph, Host, Instruction, Netlist, Program, Queue
from ttc.dialects.netlist.replicas import first_replica, replica_count
from ttc.runtime.metrics import counter
from ttc.runtime.perf.clock import Clock
from ttc.runtime.perf.epoch import EpochCost, epoch_cost
from ttc.runtime.perf.rates import Rates, machine, rates_of
from ttc.runtime.perf.traffic import Traffic, tile_size

MAX_EXECUTES = 100_000
"""The most executions of graphs in one pass over a program's text, loops counted once."""
MAX_FOLLOWED = 200_000
"""The most executions of a loop that are followed one by one; the rounds of longer ones are taken to be alike."""
MAX_TIMES = 1_000_000_000_000
"""The most times that an execute counts, however deep in loops it is."""
PEAK_FLOPS = 4096
"""The floating point operations a cycle of a core's matrix engine, in one phase."""

_CYCLES = counter("simulated_cycles")


@dataclass(frozen=True, slots=True)
class EpochExecution:
    """One epoch of a run.

    epoch: number in `RunCost.epochs`; start, cycles: when the epochs before it on its chips end, and how much longer it takes, in the first
    pass through the program's loops; origin: when its first op begins, or could; times: how often it runs.
    """

    epoch: int
    start: float
    cycles: float
    origin: float
    times: int


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a call of a program costs.

    Args:
        program, target, arch, chips, cores: what runs where; cores of one chip.
        replicas: of the program, each on an equal part of the chips, which compute parts of the batch at the same time.
        epochs: of one replica, those that differ, in the order in which they first run; executions: all that run, loops unrolled once.
        switches: epochs begun; switch_cycles: of all of them, also of those hidden behind the epochs before.
        device_cycles: of the device alone; host_cycles: of the host's transfers; cycles: of the run, both overlapped.
        samples: that a call computes; seconds: of it; samples_per_second.
        dram_bytes, host_bytes: moved, by all replicas.
        utilization: mean over all cores of the part of the run in which their engines work.
        math_peak: part of the matrix engines' rate at the ops' own fidelity; flops_peak: of their rate in one phase.
        dram_peak: part of the best measured rate of DRAM.
    """

    program: str
    target: str
    arch: str
    chips: int
    replicas: int
    cores: int
    clock_hz: float
    epochs: tuple[EpochCost, ...]
    executions: tuple[EpochExecution, ...]
    switches: int
    switch_cycles: float
    device_cycles: float
    host_cycles: float
    cycles: float
    samples: int
    dram_bytes: float
    host_bytes: float
    utilization: float
    math_peak: float
    flops_peak: float
    dram_peak: float

    @property
    def seconds(self) -> float:
        return self.cycles / self.clock_hz

    @property
    def samples_per_second(self) -> float:
        return self.samples / self.seconds if self.cycles else 0.0


def run_cost(
    netlist: Netlist, program: str | None = None, params: Mapping[str, int] | None = None, host_rate: float | None = None
) -> RunCost:
    """Return what one call of a program costs.

    program: by name, the first one if not given; params: values of its parameters, 1 where not given; host_rate: elements of inputs that
    the host lays in tiles in a second, None: as fast as its link takes them.
    Raises E0101 for a target without cores, E0803 for an unknown program, E0608 for a program that has too many steps.
    """
    target = machine(netlist.chip)
    rates = rates_of(target)
    first = first_replica(netlist)
    replicas = 1 if first is netlist else replica_count(netlist)
    netlist = first
    entry = _entry(netlist, program)
    steps, variables = _flat(entry.instructions, dict(params or {}))
    groups = _epochs_of(netlist, steps)
    held = frozenset(pair for step in steps for pair in _prologues(step, variables))
    found = _Run(netlist, rates, Traffic(netlist, held), target.cores, entry, groups, host_rate, replicas).cost()
    _CYCLES.add(found.cycles, found.target)
    return found


def _entry(netlist: Netlist, name: str | None) -> Program:
    if name is None and netlist.programs:
        return next(iter(netlist.programs.values()))
    found = netlist.programs.get(name or "")
    if found is None:
        raise Error("E0803", f"there is no program '{name or ''}'", hint=nearest(name or "", netlist.programs))
    return found


# ---- what runs how often -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Step:
    """An execute of a graph, how often it runs, and the instruction itself."""

    graph: str
    times: int
    instruction: Instruction


def _flat(instructions: Sequence[Instruction], params: dict[str, int]) -> tuple[list[_Step], dict[str, int]]:
    """Executes in the order of the text, with the product of the counts of the loops around them; and the variables as last set."""
    values = {name if name.startswith("$") else f"${name}": value for name, value in params.items()}
    given = set(values)
    found: list[_Step] = []
    times = [1]
    for instruction in instructions:
        first, second = (*instruction.args, 0, 0)[:2]
        match instruction.opcode:
            case "param":
                values.setdefault(str(first), 1)
            case "var" | "staticvar" | "set" if str(first) not in given:
                values[str(first)] = _value(second, values)
            case "loop":
                times.append(min(times[-1] * max(_value(first, values), 0), MAX_TIMES))
            case "endloop" if len(times) > 1:
                times.pop()
            case "execute":
                found.append(_Step(str(first), times[-1], instruction))
            case _:
                pass
        if len(found) > MAX_EXECUTES:
            raise Error("E0608", f"the program executes graphs in more than {MAX_EXECUTES:,} places")
    return found, values


def _value(value: int | str, values: Mapping[str, int]) -> int:
    return value if isinstance(value, int) else values.get(value, 1)


def _prologues(step: _Step, variables: Mapping[str, int]) -> list[tuple[str, str]]:
    """(graph, queue) pairs that an execute brings into L1 first."""
    return [
        (step.graph, setting.queue)
        for setting in step.instruction.settings
        if (variables.get(setting.prologue, 1) if isinstance(setting.prologue, str) else setting.prologue)
    ]


def _epochs_of(netlist: Netlist, steps: Sequence[_Step]) -> list[tuple[list[Graph], int]]:
    """Graphs that run together, in order, with how often."""
    found: list[tuple[list[Graph], int]] = []
    for step in steps:
        graph = netlist.graphs.get(step.graph)
        if graph is None:
            raise Error("E0608", f"the program executes '{step.graph[:40]}', which is no graph")
        if found and found[-1][1] == step.times and _joined(found[-1][0], graph):
            found[-1][0].append(graph)
        else:
            found.append(([graph], step.times))
    return found


def _joined(graphs: Sequence[Graph], graph: Graph) -> bool:
    """Return whether a graph belongs to the same epoch as others that run already."""
    return graph.epoch is not None and graph.epoch == graphs[0].epoch and graph.chip not in {other.chip for other in graphs}


# ---- the run -----------------------------------------------------------------------------------------------------------------------------


@dataclass
class _Run:
    """The sums of a run while its epochs are added up."""

    netlist: Netlist
    rates: Rates
    traffic: Traffic
    cores: int
    program: Program
    groups: list[tuple[list[Graph], int]]
    host_rate: float | None
    replicas: int = 1

    def cost(self) -> RunCost:
        """Add up all epochs and return the cost of the run."""
        known: dict[tuple[str, ...], int] = {}
        epochs: list[EpochCost] = []
        uses: list[int] = []
        for graphs, _ in self.groups:
            key = tuple(graph.name for graph in graphs)
            if key not in known:
                known[key] = len(epochs)
                epochs.append(epoch_cost(graphs, self.traffic, self.rates, self.netlist.chip.arch))
            uses.append(known[key])
        executions, device = self.schedule(epochs, uses)
        samples = self.samples(epochs, uses) * self.replicas
        host_bytes, elements = (part * self.replicas for part in self.transfers(epochs, uses))
        laying = 0.0 if self.host_rate is None else elements * self.rates.clock_hz / self.host_rate
        chips = len({chip for epoch in epochs for chip in epoch.chips}) or 1
        host = host_bytes / (self.rates.host * min(self.netlist.chip.host_links, chips * self.replicas)) + laying
        cycles = max(device, host)
        times = [(epochs[use], count) for use, (_, count) in zip(uses, self.groups, strict=True)]
        room = max(cycles * self.cores * chips, 1.0)
        on_device = [(e, n) for e, n in times if any(op.cores for op in e.ops)]
        dram_bytes = sum(e.dram_bytes * n for e, n in times)
        chip = self.netlist.chip
        return RunCost(
            program=self.program.name,
            target=chip.target,
            arch=chip.arch,
            chips=chips * self.replicas,
            replicas=self.replicas,
            cores=self.cores,
            clock_hz=self.rates.clock_hz,
            epochs=tuple(epochs),
            executions=tuple(executions),
            switches=sum(n for _, n in on_device),
            switch_cycles=sum(n * self.switch_cycles(e) for e, n in on_device),
            device_cycles=device,
            host_cycles=host,
            cycles=cycles,
            samples=samples,
            dram_bytes=dram_bytes * self.replicas,
            host_bytes=host_bytes,
            utilization=sum(n * e.input_count * op.core * op.cores for e, n in times for op in e.ops) / room,
            math_peak=sum(n * e.input_count * op.products for e, n in times for op in e.ops) / room,
            flops_peak=sum(n * e.input_count * op.flops for e, n in times for op in e.ops) / room / PEAK_FLOPS,
            dram_peak=dram_bytes / max(cycles * chips * self.rates.dram_channels * self.rates.dram_channel, 1.0),
        )

    def switch_cycles(self, epoch: EpochCost) -> float:
        """Return cycles in which the cores of an epoch load their programs and start, each chip by itself."""
        by_chip = [sum(op.cores for op in epoch.ops if op.chip == chip) for chip in epoch.chips]
        return self.rates.switch_of(max(by_chip))

    def schedule(self, epochs: Sequence[EpochCost], uses: Sequence[int]) -> tuple[list[EpochExecution], float]:
        """When each epoch starts, and the cycle at which the last one ends, loops included.

        Epochs that run equally often form a loop.  Its first rounds are followed one by one; a chip begins its part of the next round when
        it is through with that of the last.  The rounds after these take as long as the last that was followed.
        """
        clock = Clock(self.traffic, self.rates)
        found: list[EpochExecution] = []
        entries = list(zip(self.groups, uses, strict=True))
        for times, members in groupby(entries, key=lambda entry: entry[0][1]):
            loop = [(graphs, epochs[use], use) for (graphs, _), use in members]
            for graphs, epoch, use in loop:
                running = clock.run(graphs, epoch)
                found.append(EpochExecution(use, running.start, running.end - running.start, running.origin, times))
            chips = len({chip for _, epoch, _ in loop for chip in epoch.chips})
            followed, before, end = min(times, chips + 2, max(MAX_FOLLOWED // len(loop), 2)), clock.end, clock.end
            for _ in range(followed - 1):
                before = clock.end
                for graphs, epoch, _ in loop:
                    clock.run(graphs, epoch)
                end = clock.end
            clock.wait((times - followed) * (end - before))
        return found, clock.end

    def samples(self, epochs: Sequence[EpochCost], uses: Sequence[int]) -> int:
        """Samples of a call: those of what is streamed, or else rows of the first input; microbatches if no shape is known."""
        inputs = [argument for argument in self.program.arguments if argument.kind == "input" and argument.shape]
        streamed = [argument for argument in inputs if argument.streamed] or inputs
        if streamed:
            return max(streamed[0].samples, 1)
        return max((epochs[use].input_count * times for use, (_, times) in zip(uses, self.groups, strict=True)), default=1)

    def transfers(self, epochs: Sequence[EpochCost], uses: Sequence[int]) -> tuple[float, float]:
        """Bytes that pass between host and device, what ops read there themselves included; and elements that the host lays in tiles.

        A queue with fewer entries than an epoch has microbatches holds the same for all of them.
        """
        entries: dict[str, int] = {}
        for graphs, times in self.groups:
            for graph in graphs:
                names = {name for op in graph.ops if not isinstance(op.place, Host) for name in op.inputs}
                for name in names | {queue for _, queue in graph.writes}:
                    queue = self.netlist.queues.get(name)
                    if queue is not None and queue.kind in ("input", "output"):
                        passing = queue.type == "queue" and queue.entries >= graph.input_count
                        entries[name] = max(entries.get(name, 0), graph.input_count * times if passing else 1)
        total = sum(epochs[use].host_bytes * times for use, (_, times) in zip(uses, self.groups, strict=True))
        elements = 0.0
        for name, count in entries.items():
            queue = self.netlist.queues[name]
            if -1 in queue.tensor.shape:
                continue
            total += self.entry_bytes(queue) * count if queue.location == "dram" else 0.0
            elements += queue.tensor.elements * count if queue.tensor.layout != "rows" and queue.kind == "input" else 0.0
        return total, elements

    def entry_bytes(self, queue: Queue) -> float:
        """Return bytes of one entry of a queue."""
        if queue.blocking is None:
            return format_named(queue.tensor.format).size_bytes(queue.tensor.shape) if -1 not in queue.tensor.shape else 0
        return queue.blocking.tiles * queue.grid[0] * queue.grid[1] * tile_size(queue.tensor, self.netlist)

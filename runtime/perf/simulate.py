"""A pipeline of stages joined by finite FIFOs, event by event.

A microbatch passes a stage in `granules` equal parts.  A stage starts a granule when every pipe into it holds one and all it has made is
handed on; it hands on a granule at a time, or several at the end of each of its `bursts` (a matmul that sums over all it reads has one a
microbatch).  Stages that use a resource (DRAM, the host's link) are served in the order in which they become ready.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

MAX_MICROBATCHES = 32
"""The most microbatches that are simulated; fewer if a steady state shows."""
MAX_EVENTS = 60_000
LONGEST_PERIOD = 4
"""The most microbatches after which a steady state may repeat."""
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class SimulatedStage:
    """One step of a pipeline.

    Args:
        name: of the op, or of a queue that is read or written.
        cycles: for one granule.
        resource: number of the shared resource it uses, and `service` the cycles of it for one granule; None: none.
        bursts: how often in a microbatch results come out; 0: with every granule.
        passing: cycles of a granule after that, which the resource is free in.
    """

    name: str
    cycles: float
    resource: int | None = None
    service: float = 0.0
    bursts: int = 0
    passing: float = 0.0


@dataclass(frozen=True, slots=True)
class Pipe:
    """A FIFO between two stages, by their numbers.

    capacity: granules that its buffers hold, at least 1; delay: cycles from when a granule is handed on until it is there.
    """

    source: int
    target: int
    capacity: int
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Network:
    """A pipeline as stages and pipes between them.  granules: of a microbatch."""

    stages: tuple[SimulatedStage, ...]
    pipes: tuple[Pipe, ...]
    granules: int


@dataclass(frozen=True, slots=True)
class Deadlock:
    """Why a pipeline stands still.

    waits: (stage, what it waits for, stage) around a circle; `space` or `data`.
    pipe: number of a full pipe in that circle; needed: the granules with which the pipeline runs, None if no size helps.
    """

    waits: tuple[tuple[int, str, int], ...]
    pipe: int | None
    needed: int | None


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    """The outcome of a simulation of a pipeline.

    Args:
        finished: cycle at which each simulated microbatch had left the pipeline.
        interval: cycles between microbatches in the steady state, its mean over the second half if none showed.
        steady: whether one showed.
        starved, blocked: cycles that each stage waited for data, and for space, until then.
        first: cycle at which each stage ended its first microbatch.
        latest: of each stage, the cycle at which it ended the last microbatch that it was seen to end, and the number of that one.
        deadlock: None if the pipeline runs.
    """

    finished: tuple[float, ...]
    interval: float
    steady: bool
    starved: tuple[float, ...] = ()
    blocked: tuple[float, ...] = ()
    first: tuple[float, ...] = ()
    latest: tuple[tuple[float, int], ...] = ()
    deadlock: Deadlock | None = None

    def total(self, microbatches: int) -> float:
        """Return the cycles of so many microbatches: simulated, then one more interval each."""
        if not self.finished or microbatches < 1:
            return 0.0
        shown = min(len(self.finished), microbatches)
        return self.finished[shown - 1] + (microbatches - shown) * self.interval

    def ends(self, microbatches: int) -> tuple[float, ...]:
        """Return the cycle at which each stage has ended so many microbatches: as seen, then one more interval each."""
        return tuple(cycle + max(microbatches - number, 0) * self.interval for cycle, number in self.latest)


@lru_cache(maxsize=4096)
def simulate(network: Network, microbatches: int) -> SimulationOutcome:
    """Run microbatches through a network until all are through, a steady state shows, or the work allowed for is done.

    A network stands still if a circle of stages waits for each other; the outcome says so.
    """
    if not network.stages:
        return SimulationOutcome((), 0.0, True)
    events = len(network.stages) * network.granules
    limit = max(min(microbatches, MAX_MICROBATCHES, MAX_EVENTS // events), min(microbatches, 2))
    run = _Run(network, limit)
    run.run()
    if len(run.finished) < limit and not run.steady:
        return SimulationOutcome(tuple(run.finished), 0.0, False, deadlock=_explain(run, limit))
    return SimulationOutcome(
        tuple(run.finished),
        _interval(run.finished, run.steady),
        run.steady,
        tuple(run.starved),
        tuple(run.blocked),
        tuple(run.first),
        tuple(run.latest),
    )


@dataclass
class _Run:
    """The state of a simulation."""

    network: Network
    limit: int
    finished: list[float] = field(default_factory=list)
    steady: bool = False

    def __post_init__(self) -> None:
        stages, pipes = self.network.stages, self.network.pipes
        self.into: list[list[int]] = [[] for _ in stages]
        self.out: list[list[int]] = [[] for _ in stages]
        for number, pipe in enumerate(pipes):
            self.out[pipe.source].append(number)
            self.into[pipe.target].append(number)
        self.done = [0] * len(stages)
        self.busy = [False] * len(stages)
        self.emitted = [0] * len(pipes)
        self.arrived = [0] * len(pipes)
        self.travelling: list[deque[int]] = [deque() for _ in pipes]
        self.handed = [-1] * len(stages)
        self.lagging = [0] * len(stages)
        self.freed: list[set[int]] = [set() for _ in stages]
        self.taken = [0] * len(pipes)
        self.free = [0.0] * (1 + max((s.resource for s in stages if s.resource is not None), default=-1))
        self.idle = [0.0] * len(stages)
        self.stuck = [False] * len(stages)
        self.starved = [0.0] * len(stages)
        self.blocked = [0.0] * len(stages)
        self.first = [0.0] * len(stages)
        self.latest = [(0.0, 0)] * len(stages)
        self.events: list[tuple[float, int]] = []
        self.waiting: deque[int] = deque(range(len(stages)))
        self.left = len(stages)

    def run(self) -> None:
        """Until all microbatches are through, nothing moves, or the state is steady."""
        now = 0.0
        self.settle(now)
        while self.events and len(self.finished) < self.limit and not self.steady:
            now, stage = heapq.heappop(self.events)
            self.complete(stage, now)
            while self.events and self.events[0][0] == now:
                self.complete(heapq.heappop(self.events)[1], now)
            self.settle(now)

    def settle(self, now: float) -> None:
        """Let every stage that can hand on or start do so."""
        while self.waiting:
            stage = self.waiting.popleft()
            if not self.busy[stage] and self.hand_on(stage, now):
                self.start(stage, now)

    def complete(self, stage: int, now: float) -> None:
        """A stage ends a granule: its inputs have room again.  Numbers below zero stand for pipes in which granules arrive."""
        if stage < 0:
            pipe = -1 - stage
            self.arrived[pipe] += self.travelling[pipe].popleft()
            self.waiting.append(self.network.pipes[pipe].target)
            return
        self.busy[stage] = False
        self.done[stage] += 1
        self.idle[stage] = now
        for pipe in self.into[stage]:
            self.taken[pipe] += 1
            source = self.network.pipes[pipe].source
            self.freed[source].add(pipe)
            self.waiting.append(source)
        self.waiting.append(stage)
        if self.done[stage] % self.network.granules == 0:
            self.left_stage(stage, now)

    def left_stage(self, stage: int, now: float) -> None:
        """A microbatch has passed a stage; if it was the last one, it has left the pipeline."""
        passed = self.done[stage] // self.network.granules
        self.latest[stage] = now, passed
        if passed == 1:
            self.first[stage] = now
        if passed != len(self.finished) + 1:
            return
        self.left -= 1
        while self.left == 0:
            self.finished.append(now)
            reached = len(self.finished) + 1
            self.left = sum(done // self.network.granules < reached for done in self.done)
            self.steady = _repeats(self.finished)
            if len(self.finished) >= self.limit:
                return

    def hand_on(self, stage: int, now: float) -> bool:
        """Hand on what a stage has made, as far as there is room; returns whether all of it went.

        Where it has made nothing since the last time, only pipes in which readers freed room since then are looked at.
        """
        due, freed = self.due(stage), self.freed[stage]
        pipes: Sequence[int] = sorted(freed) if len(freed) > 1 else tuple(freed)
        if due != self.handed[stage]:
            pipes, self.handed[stage] = self.out[stage], due
            self.lagging[stage] = sum(self.emitted[pipe] != due for pipe in pipes)
        freed.clear()
        for pipe in pipes:
            room = self.taken[pipe] + self.network.pipes[pipe].capacity - self.emitted[pipe]
            count = min(due - self.emitted[pipe], room)
            if count > 0:
                self.emitted[pipe] += count
                self.lagging[stage] -= self.emitted[pipe] == due
                self.send(pipe, count, now)
        complete = self.lagging[stage] == 0
        if complete and self.stuck[stage]:
            self.blocked[stage] += now - self.idle[stage]
            self.idle[stage] = now
        self.stuck[stage] = not complete
        return complete

    def send(self, pipe: int, count: int, now: float) -> None:
        """Let granules go through a pipe."""
        entry = self.network.pipes[pipe]
        if entry.delay:
            self.travelling[pipe].append(count)
            heapq.heappush(self.events, (now + entry.delay, -1 - pipe))
        else:
            self.arrived[pipe] += count
            self.waiting.append(entry.target)

    def due(self, stage: int) -> int:
        """Granules that a stage has made."""
        done, granules, bursts = self.done[stage], self.network.granules, self.network.stages[stage].bursts
        if bursts == 0 or bursts >= granules:
            return done
        whole, part = divmod(done, granules)
        return whole * granules + part * bursts // granules * granules // bursts

    def start(self, stage: int, now: float) -> None:
        """Start a stage's next granule if its inputs are there."""
        if self.done[stage] >= self.limit * self.network.granules:
            return
        if any(self.arrived[pipe] <= self.done[stage] for pipe in self.into[stage]):
            return
        entry = self.network.stages[stage]
        self.starved[stage] += now - self.idle[stage]
        finish = now + entry.cycles
        if entry.resource is not None:
            self.free[entry.resource] = max(self.free[entry.resource], now) + entry.service
            finish = max(finish, self.free[entry.resource])
        finish += entry.passing
        self.busy[stage] = True
        heapq.heappush(self.events, (finish, stage))


def _repeats(finished: list[float]) -> bool:
    """Return whether the last microbatches came at intervals that repeat."""
    gaps = [b - a for a, b in zip(finished[:-1], finished[1:], strict=True)]
    for period in range(1, LONGEST_PERIOD + 1):
        last = gaps[-2 * period :]
        if len(last) == 2 * period >= 2 and len(gaps) >= 2 * period + 1 and _equal(last[:period], last[period:]):
            return True
    return False


def _equal(a: list[float], b: list[float]) -> bool:
    return all(abs(x - y) <= TOLERANCE * max(abs(x), 1.0) for x, y in zip(a, b, strict=True))


def _interval(finished: list[float], steady: bool) -> float:
    gaps = [b - a for a, b in zip(finished[:-1], finished[1:], strict=True)]
    if not gaps:
        return finished[0] if finished else 0.0
    if steady:
        for period in range(1, LONGEST_PERIOD + 1):
            if len(gaps) >= 2 * period and _equal(gaps[-2 * period : -period], gaps[-period:]):
                return sum(gaps[-period:]) / period
    half = gaps[len(gaps) // 2 :]
    return sum(half) / len(half)


# ---- deadlocks ---------------------------------------------------------------------------------------------------------------------------


def _explain(run: _Run, limit: int) -> Deadlock:
    """Return a circle of stages that wait for each other, and the size with which one of its full pipes lets them go on."""
    waits = _circle(run)
    full = [number for number, pipe in enumerate(run.network.pipes) if (pipe.source, "space", pipe.target) in waits]
    for number in sorted(full, key=lambda n: run.network.pipes[n].capacity):
        needed = _needed(run.network, number, limit)
        if needed is not None:
            return Deadlock(waits, number, needed)
    return Deadlock(waits, full[0] if full else None, None)


def _circle(run: _Run) -> tuple[tuple[int, str, int], ...]:
    """Follow what each stage waits for until a stage comes again."""
    stage = next((s for s in range(len(run.done)) if not run.busy[s] and _wait(run, s) is not None), None)
    path: list[tuple[int, str, int]] = []
    seen: dict[int, int] = {}
    while stage is not None and stage not in seen:
        seen[stage] = len(path)
        found = _wait(run, stage)
        if found is None:
            return tuple(path)
        path.append((stage, *found))
        stage = found[1]
    return tuple(path[seen[stage] :]) if stage is not None else tuple(path)


def _wait(run: _Run, stage: int) -> tuple[str, int] | None:
    """Return what a stage waits for, and for whom: room first, as it comes first in time."""
    due = run.due(stage)
    for pipe in run.out[stage]:
        if run.emitted[pipe] < due:
            return "space", run.network.pipes[pipe].target
    for pipe in run.into[stage]:
        if run.emitted[pipe] <= run.done[stage]:
            return "data", run.network.pipes[pipe].source
    return None


def _needed(network: Network, pipe: int, limit: int) -> int | None:
    """Return the least capacity of a pipe, up to two microbatches, with which a network runs; None if there is none."""
    found = None
    low, high = network.pipes[pipe].capacity, 2 * network.granules
    while low < high:
        middle = (low + high) // 2
        pipes = list(network.pipes)
        pipes[pipe] = replace(pipes[pipe], capacity=middle + 1)
        trial = _Run(replace(network, pipes=tuple(pipes)), min(limit, 3))
        trial.run()
        if len(trial.finished) >= trial.limit or trial.steady:
            found, high = middle + 1, middle
        else:
            low = middle + 1
    return found

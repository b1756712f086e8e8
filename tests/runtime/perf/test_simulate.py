"""Pipelines with finite FIFOs, worked out by hand."""

from __future__ import annotations

import pytest

from ttc.runtime.perf import simulate as simulation
from ttc.runtime.perf.simulate import Network, Pipe, SimulatedStage, simulate


def network(*stages: SimulatedStage, pipes: list[tuple[int, int, int]], granules: int = 4) -> Network:
    return Network(stages, tuple(Pipe(*pipe) for pipe in pipes), granules)


def test_two_stages() -> None:
    # a needs 4 x 25, b 4 x 10: a microbatch every 100; b ends its last granule 10 after a.
    found = simulate(network(SimulatedStage("a", 25), SimulatedStage("b", 10), pipes=[(0, 1, 2)]), 10)
    assert found.finished[:3] == (110, 210, 310)
    assert (found.interval, found.steady) == (100, True)
    assert found.total(1) == 110
    assert found.total(10) == 110 + 9 * 100
    assert found.deadlock is None


def test_the_slow_stage_holds_up_the_fast_one() -> None:
    found = simulate(network(SimulatedStage("a", 10), SimulatedStage("b", 25), pipes=[(0, 1, 2)]), 10)
    assert found.finished[0] == 110
    assert found.interval == 100
    assert found.blocked[0] > 0
    assert found.blocked[1] == 0


def test_when_each_stage_is_through() -> None:
    """A fast stage before a slow one is through as early as the room between them allows."""
    stages = SimulatedStage("a", 10), SimulatedStage("b", 25)
    wide = simulate(network(*stages, pipes=[(0, 1, 40)]), 4)
    assert wide.ends(4) == (4 * 4 * 10, 10 + 4 * 4 * 25)
    tight = simulate(network(*stages, pipes=[(0, 1, 2)]), 10)
    assert tight.ends(10)[1] == tight.total(10) == 10 + 10 * 4 * 25
    assert 0 < tight.ends(10)[1] - tight.ends(10)[0] <= 4 * 25


def test_a_resource_serves_one_at_a_time() -> None:
    reads = [SimulatedStage("x", 5, 0, 30), SimulatedStage("y", 5, 0, 20)]
    found = simulate(network(*reads, SimulatedStage("op", 1), pipes=[(0, 2, 4), (1, 2, 4)]), 20)
    assert found.interval == 4 * 50


def test_a_stage_passes_on_what_it_read_while_another_reads() -> None:
    alone = simulate(network(SimulatedStage("x", 5, 0, 30, passing=10), SimulatedStage("op", 1), pipes=[(0, 1, 4)]), 20)
    assert alone.interval == 4 * (30 + 10)
    reads = [SimulatedStage("x", 5, 0, 30, passing=10), SimulatedStage("y", 5, 0, 20, passing=10)]
    both = simulate(network(*reads, SimulatedStage("op", 1), pipes=[(0, 2, 4), (1, 2, 4)]), 20)
    assert both.interval == 4 * 50


def test_a_sum_gives_its_results_at_the_end() -> None:
    found = simulate(
        network(SimulatedStage("a", 10), SimulatedStage("sum", 10, bursts=1), SimulatedStage("c", 10), pipes=[(0, 1, 2), (1, 2, 8)]), 1
    )
    assert found.finished == (90,)  # 50 until the sum is done, then four granules
    streamed = simulate(
        network(SimulatedStage("a", 10), SimulatedStage("map", 10), SimulatedStage("c", 10), pipes=[(0, 1, 2), (1, 2, 8)]), 1
    )
    assert streamed.finished == (60,)


def test_results_come_out_at_the_end_of_each_step() -> None:
    found = simulate(
        network(SimulatedStage("a", 10), SimulatedStage("sum", 10, bursts=2), SimulatedStage("c", 10), pipes=[(0, 1, 2), (1, 2, 8)]), 1
    )
    assert found.finished == (70,)


def test_fork_join_with_too_small_a_buffer() -> None:
    stages = (SimulatedStage("a", 10), SimulatedStage("sum", 10, bursts=1), SimulatedStage("join", 10))
    found = simulate(network(*stages, pipes=[(0, 1, 1), (1, 2, 4), (0, 2, 2)]), 8)
    assert found.finished == ()
    assert found.deadlock is not None
    assert found.deadlock.waits == ((0, "space", 2), (2, "data", 1), (1, "data", 0))
    assert (found.deadlock.pipe, found.deadlock.needed) == (2, 3)
    enough = simulate(network(*stages, pipes=[(0, 1, 1), (1, 2, 4), (0, 2, 3)]), 8)
    assert enough.deadlock is None


def test_a_stage_that_waits_for_itself_never_runs() -> None:
    found = simulate(network(SimulatedStage("a", 10), SimulatedStage("b", 10), pipes=[(0, 1, 1), (1, 0, 1)]), 2)
    assert found.deadlock is not None
    assert found.deadlock.needed is None
    assert {what for _, what, _ in found.deadlock.waits} == {"data"}


@pytest.mark.parametrize("capacity", [1, 2, 3, 4, 8])
def test_larger_buffers_never_slow_a_pipeline(capacity: int) -> None:
    def interval(size: int) -> float:
        stages = (SimulatedStage("a", 10), SimulatedStage("b", 13, bursts=1), SimulatedStage("c", 9))
        return simulate(network(*stages, pipes=[(0, 1, size), (1, 2, size)]), 16).interval

    assert interval(capacity + 1) <= interval(capacity) + 1e-9


def test_no_more_is_simulated_than_needed() -> None:
    found = simulate(network(*[SimulatedStage(str(i), 10 + i) for i in range(40)], pipes=[(i, i + 1, 2) for i in range(39)]), 100_000)
    assert len(found.finished) <= 32
    assert found.interval == 4 * 49
    assert found.total(100_000) == found.finished[-1] + (100_000 - len(found.finished)) * 196


def test_nothing_takes_no_time() -> None:
    found = simulate(network(pipes=[]), 5)
    assert (found.deadlock, found.total(5)) == (None, 0.0)


def test_the_work_of_a_value_of_many_readers_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers end one after another, as they share a resource; each looks at its own pipe."""
    looked: list[int] = []

    def least(*values: int) -> int:
        looked.append(1)
        return min(values)

    monkeypatch.setattr(simulation, "min", least, raising=False)
    counts: list[int] = []
    for readers in (100, 200):
        looked.clear()
        stages = (SimulatedStage("source", 1.0), *(SimulatedStage(f"r{i}", 1.0, resource=0, service=1.0) for i in range(readers)))
        pipes = tuple(Pipe(0, 1 + i, 2) for i in range(readers))
        assert simulate(Network(stages, pipes, 4), 2).deadlock is None
        counts.append(len(looked))
    assert counts[1] < 2.2 * counts[0]

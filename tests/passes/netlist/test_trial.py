"""Epochs on trial: what they cost by the performance model, and the buffers that joined paths get."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from tests.passes.module_pairs import parse_unit
from tests.passes.netlist.chains import chain, residual
from ttc.dialects.netlist.model import Grid
from ttc.dialects.netlist.ops import graphs_of, queues_of
from ttc.passes.netlist.nodes import ProblemBuilder
from ttc.passes.netlist.trial import Trial, lead_of
from ttc.passes.tile_to_netlist.epochs import EpochRange, Placed
from ttc.passes.tile_to_netlist.turns import Turn
from ttc.runtime.perf.clock import begins_of
from ttc.runtime.perf.rates import rates_of


def on_trial(text: str) -> tuple[Trial, list[Placed]]:
    """A trial of the only graph, and its ops in a row on the fewest cores each."""
    unit = parse_unit(text)
    graph = graphs_of(unit.module)["g"]
    candidates = [node.found.front[0] for node in ProblemBuilder(unit).problem(graph).nodes]
    placed = [Placed(c, Grid(0, i, c.rows, c.cols), c.buffers) for i, c in enumerate(candidates)]
    return Trial(unit, graph, graph.ops, queues_of(unit.module)), placed


def test_what_comes_from_outside_comes_from_queues() -> None:
    trial, placed = on_trial(chain(3, 64, 2))
    ops = trial.placed_ops(1, placed[1:])
    assert [op.inputs for op in ops] == [("m0>", "w"), ("m1", "w")]
    cost = trial.cost(1, ops)
    assert [op.name for op in cost.ops] == ["m1", "m2"]
    assert cost.ops[0].dram_in > 0 == cost.ops[1].dram_in


def test_an_epoch_takes_its_switch_its_fill_and_its_intervals() -> None:
    trial, placed = on_trial(chain(2, 64, 8))
    rates = replace(rates_of(trial.unit.target), ahead=False)
    turn = Turn(rates, 8, first=True, last=True, overlap=0.0)
    verdict = trial.judge(turn, 0, placed)
    cost = trial.cost(0, trial.placed_ops(0, placed))
    switch = rates.switch_of(sum(entry.candidate.cores for entry in placed))
    assert verdict.cycles == pytest.approx(switch + cost.cycles)
    behind = trial.judge(replace(turn, first=False, overlap=1.0), 0, placed)  # another epoch runs while it loads
    assert behind.cycles == pytest.approx(cost.cycles - cost.prologue)
    assert verdict.short == ()
    timing = verdict.timing
    assert timing is not None
    assert timing.begins[0] == 0.0 < timing.begins[1]
    assert timing.ends[0] < timing.ends[1] < timing.cycles  # the last result has yet to be written


def test_results_of_other_chips_take_their_steps() -> None:
    trial, placed = on_trial(chain(2, 64, 1))
    ops = trial.placed_ops(0, placed)
    apart = replace(trial, steps={("m0", "m1"): 3}, costs={})
    hop = rates_of(trial.unit.target).eth_hop
    assert apart.cost(0, ops).fill == pytest.approx(trial.cost(0, ops).fill + 3 * hop)
    assert apart.crossing(ops) == 0.0  # both are in the epoch
    assert apart.crossing(trial.placed_ops(1, placed[1:])) == 3 * hop


def test_weights_come_before_the_results_of_other_epochs() -> None:
    """An epoch whose second op alone reads another epoch needs nothing of that until it begins."""
    trial, placed = on_trial(chain(3, 64, 1))
    ops = trial.placed_ops(1, placed[1:])
    cost = trial.cost(1, ops)
    assert lead_of(ops, cost) == begins_of(cost)[0]
    inner = [replace(ops[0], inputs=("w", "w")), replace(ops[1], inputs=("m0>", "w"))]
    assert lead_of(inner, cost) == begins_of(cost)[1] > 0
    assert lead_of(trial.placed_ops(0, placed), trial.cost(0, trial.placed_ops(0, placed))) == 0.0


def test_a_join_gets_room_for_what_waits() -> None:
    trial, placed = on_trial(residual(7, 256))
    verdict = trial.judge(Turn(rates_of(trial.unit.target), 256, first=True, last=True, overlap=0.0), 0, placed)
    assert verdict.cycles < inf
    before, after = ({b.role: b.copies for b in buffers} for buffers in (placed[-1].buffers, verdict.ops[-1].buffers))
    assert after["in1"] > before["in1"]


def test_a_run_is_timed_with_what_is_read_as_it_was_written() -> None:
    """The second epoch reads a queue of one buffer, as one core writes it, and not of one in each channel."""
    trial, placed = on_trial(chain(3, 512, 8))
    turn = Turn(rates_of(trial.unit.target), 8, first=True, last=True, overlap=0.0)
    (first, *_), later = trial.placed_ops(0, placed), trial.placed_ops(1, placed[1:])
    assert placed[0].candidate.cores == 1
    costs = [trial.costed(1, later, known) for known in (None, {"m0": first})]
    channels = [[s.channels for s in cost.ops[0].streams if s.end == "m0>"] for cost in costs]
    assert channels == [[6], [1]]
    found = trial.review([EpochRange(0, tuple(placed[:1]), 1.0), EpochRange(1, tuple(placed[1:]), 1.0)])
    assert found is not None
    assert [epoch.begin for epoch in found] == [0, 1]
    assert [len(epoch.timing.jobs) for epoch in found if epoch.timing is not None] == [1, 2]
    alone = trial.review([EpochRange(1, tuple(placed[1:]), 1.0)]) or []
    assert [epoch.timing for epoch in alone] == [trial.judge(turn, 1, placed[1:]).timing]

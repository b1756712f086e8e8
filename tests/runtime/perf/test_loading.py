"""Loads share DRAM; a core loads as soon as it is free, weights that several take in when all of them are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime.perf.conftest import matmul, netlist_of, queue, tensor
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.model import Grid
from ttc.runtime.perf.epoch import epoch_cost
from ttc.runtime.perf.loading import CoreTimes, LoadJob, in_turn, load_of, loaded, ready
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.traffic import Traffic

N150 = rates_of(load_target("n150"))


def test_loads_share_the_ways_from_dram_by_their_cores() -> None:
    alone = LoadJob(100.0, 4, 1000.0, 10.0)
    assert loaded([alone], 0.0, 1.0) == [1100.0]
    assert loaded([alone, alone], 0.0, 1.0) == [2100.0, 2100.0]
    assert loaded([LoadJob(0.0, 3, 300.0, 0.0), LoadJob(0.0, 1, 300.0, 0.0)], 0.0, 1.0) == [400.0, 600.0]
    assert loaded([LoadJob(0.0, 1, 300.0, 0.0), LoadJob(200.0, 1, 300.0, 0.0)], 0.0, 1.0) == [400.0, 600.0]


def test_a_load_has_what_the_epoch_before_leaves_and_one_core_its_own_rate() -> None:
    assert loaded([LoadJob(0.0, 1, 1000.0, 0.0)], 400.0, 0.5) == [1200.0]
    assert loaded([LoadJob(50.0, 1, 10.0, 4000.0)], 0.0, 1.0) == [4050.0]
    assert loaded([], 10.0, 1.0) == []


def test_a_load_goes_on_when_another_comes_and_has_all_when_that_is_done() -> None:
    jobs = [LoadJob(0.0, 1, 300.0, 0.0), LoadJob(100.0, 3, 300.0, 0.0), LoadJob(900.0, 2, 50.0, 0.0)]
    assert loaded(jobs, 0.0, 1.0) == [600.0, 500.0, 950.0]


def test_cores_load_programs_when_they_are_free() -> None:
    job = LoadJob(0.0, 4, 400.0, 10.0)
    soon, late = CoreTimes(0.0), CoreTimes(1000.0)
    assert ready([job], [{late: 4}], 0.0, 1.0) == [1400.0]
    assert ready([job], [{soon: 3, late: 1}], 0.0, 1.0) == [1100.0]
    assert ready([job, job], [{soon: 3, late: 1}, {late: 4}], 0.0, 1.0) == [1500.0, 1500.0]


def test_weights_that_several_cores_take_in_come_when_all_of_them_are_free() -> None:
    own, shared = LoadJob(0.0, 2, 600.0, 0.0), LoadJob(0.0, 2, 100.0, 0.0, shared=500.0)
    late = {CoreTimes(0.0): 1, CoreTimes(1000.0): 1}
    assert ready([own], [late], 0.0, 1.0) == [1300.0]
    assert ready([shared], [late], 0.0, 1.0)[0] == pytest.approx(1550.0)
    soon = {CoreTimes(0.0): 2}
    assert ready([own], [soon], 0.0, 1.0) == ready([shared], [soon], 0.0, 1.0) == [600.0]


def test_cores_in_turn_load_for_the_ops_that_begin_first() -> None:
    """All are loaded as soon as otherwise; the first to begin sooner."""
    jobs = [LoadJob(0.0, 4, 1000.0, 10.0, begin=begin) for begin in (500.0, 0.0, 900.0)]
    assert loaded(jobs, 0.0, 1.0) == [3000.0] * 3
    assert in_turn(jobs, 0.0, 1.0) == [2000.0, 1000.0, 3000.0]
    assert in_turn([LoadJob(0.0, 1, 100.0, 800.0), LoadJob(50.0, 1, 100.0, 800.0)], 0.0, 1.0) == [800.0, 900.0]
    assert in_turn([LoadJob(0.0, 1, 1000.0, 0.0)], 400.0, 0.5) == [1200.0]
    assert in_turn([LoadJob(700.0, 1, 10.0, 0.0), LoadJob(0.0, 1, 10.0, 0.0)], 0.0, 1.0) == [710.0, 10.0]


def test_cores_load_ahead_what_l1_has_room_for() -> None:
    job = LoadJob(0.0, 2, 400.0, 10.0, need=1000.0, whole=200.0)
    times = [CoreTimes(5000.0, 100.0, room) for room in (1000.0, 500.0, 150.0)]  # the last has no room for what comes as one piece
    assert [ready([job], [{core: 2}], 0.0, 1.0)[0] for core in times] == [500.0, 5200.0, 5400.0]
    assert ready([LoadJob(0.0, 2, 400.0, 10.0)], [{times[0]: 2}], 0.0, 1.0) == [5400.0]


def test_weights_that_several_cores_take_in_come_ahead_as_far_as_all_have_room() -> None:
    shared = LoadJob(0.0, 2, 0.0, 0.0, shared=400.0, need=1000.0)
    wide, narrow = CoreTimes(5000.0, 100.0, 1000.0), CoreTimes(5000.0, 900.0, 500.0)
    assert ready([shared], [{wide: 1, narrow: 1}], 0.0, 1.0) == [5200.0]
    assert ready([shared], [{wide: 1, wide.later(50.0): 1}], 0.0, 1.0) == [550.0]


@pytest.mark.parametrize(("grid", "is_shared"), [(Grid(0, 0, 1, 4), False), (Grid(0, 0, 4, 2), True)])
def test_weights_of_one_row_of_cores_are_each_its_own(grid: Grid, is_shared: bool) -> None:
    a, b, y = tensor(8, 4), tensor(4, 8), tensor(8, 8)
    queues = (queue("a", a), queue("b", b, kind="parameter", ram=True), queue("y", y, kind="output"))
    net = netlist_of(queues, (matmul("m", ("a", "b"), (a, b, y), grid, inner=4),), (("m", "y"),), 2)
    (op,) = epoch_cost(list(net.graphs.values()), Traffic(net), N150, "wormhole_b0").ops
    job, together = load_of(op, replace(N150, ahead=False)), load_of(op, N150)
    assert (job.shared > 0.0) is is_shared
    assert job.cycles + job.shared > N150.program_cycles(op.cores)
    assert (job.cycles == N150.program_cycles(op.cores)) is is_shared
    kernels = N150.program_cycles(1) * N150.kernel_bytes / N150.program_bytes  # come once for all cores of an op
    assert together.shared - job.shared == pytest.approx(kernels)
    assert job.cycles - together.cycles == pytest.approx(op.cores * kernels)

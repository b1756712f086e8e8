"""Runs of programs: loops, epochs, samples, transfers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.runtime.perf.conftest import netlist_of, queue, relu, tensor, with_kernels
from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.dialects.netlist.model import Argument, Graph, Grid, Host, Instruction, Netlist, Program
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.run import run_cost

N150 = rates_of(load_target("n150"))
BUDA = rates_of(replace(load_target("n150"), kernels="buda"))
NETLISTS = Path(__file__).resolve().parents[2] / "data" / "netlists" / "valid"
Pipeline = Callable[[int], Netlist]


def with_program(net: Netlist, *instructions: Instruction) -> Netlist:
    return replace(net, programs={"forward": Program("forward", (), (), instructions)})


def test_one_epoch(pipeline: Pipeline) -> None:
    found = run_cost(with_kernels(pipeline(10), "buda"))
    (epoch,) = found.epochs
    switch = BUDA.switch_of(sum(op.cores for op in epoch.ops))
    assert found.device_cycles == pytest.approx(epoch.cycles + switch)
    assert found.switch_cycles == pytest.approx(switch)
    assert found.cycles == max(found.device_cycles, found.host_cycles)
    assert (found.switches, found.samples) == (1, 10)
    assert found.seconds == pytest.approx(found.cycles / 1e9)
    assert found.samples_per_second == pytest.approx(10 / found.seconds)
    assert found.dram_bytes == pytest.approx(10 * 2 * 64 * 2080)
    assert found.host_bytes == pytest.approx(10 * 2 * 64 * 2080)  # the host fills x and empties y
    assert found.host_cycles == pytest.approx(found.host_bytes / N150.host)
    assert found.utilization == pytest.approx(sum(op.core * op.cores for op in epoch.ops) * 10 / found.cycles / 72)
    assert 0 < found.dram_peak < 1
    assert found.math_peak == 0


def test_loops_multiply(pipeline: Pipeline) -> None:
    net = pipeline(10)
    execute = Instruction("execute", ("g",))
    once = run_cost(net)
    looped = with_program(
        net, Instruction("loop", (3,)), Instruction("loop", (2,)), execute, Instruction("endloop"), Instruction("endloop")
    )
    sixfold = run_cost(looped).device_cycles
    assert 6 * once.epochs[0].cycles < sixfold < 6 * once.device_cycles  # cores of the first op go on while those of the last still work
    by_parameter = with_program(net, Instruction("param", ("$n",)), Instruction("loop", ("$n",)), execute, Instruction("endloop"))
    assert run_cost(by_parameter).device_cycles == pytest.approx(once.device_cycles)
    assert run_cost(by_parameter, params={"n": 6}).device_cycles == pytest.approx(sixfold)
    declared = with_program(net, Instruction("var", ("$n", 4)), Instruction("loop", ("$n",)), execute, Instruction("endloop"))
    assert run_cost(declared).samples == 40


def test_samples_are_what_the_caller_gives(pipeline: Pipeline) -> None:
    net = pipeline(4)
    argument = Argument("x", "input", "x", (32, 3), "float32", streamed=True)
    program = replace(net.programs["forward"], arguments=(argument,))
    assert run_cost(replace(net, programs={"forward": program})).samples == 32


def test_epochs_on_one_chip_follow_each_other_and_those_on_others_do_not(pipeline: Pipeline) -> None:
    net = pipeline(4)
    first = net.graphs["g"]
    x = tensor(8, 8)
    second = Graph("h", 0, 4, (relu("c", "y", x, Grid(0, 0, 1, 1)),), (("c", "z"),))
    other = Graph("h", 1, 4, (relu("c", "x", x, Grid(0, 0, 1, 1)),), (("c", "z"),))
    queues = net.queues | {"z": queue("z", x, (3,), "output")}
    steps = (Instruction("execute", ("g",)), Instruction("execute", ("h",)))

    def run(graph: Graph) -> tuple[float, float]:
        found = run_cost(with_program(replace(net, queues=queues, graphs={"g": first, "h": graph}), *steps))
        return found.executions[1].start, found.device_cycles

    alone = run_cost(net).device_cycles
    assert run(second)[0] == pytest.approx(alone)
    assert run(other) == (0.0, pytest.approx(max(alone, run(other)[1])))
    waiting = replace(other, ops=(replace(other.ops[0], inputs=("y",)),))
    assert alone < run(waiting)[1] < alone + run_cost(net).epochs[0].cycles  # it reads entries as they are written


def test_graphs_of_one_epoch_run_together() -> None:
    x = tensor(8, 8)
    first = Graph("g", 0, 4, (relu("a", "x", x, Grid(0, 0, 1, 1)),), (), epoch=0)
    second = Graph("h", 1, 4, (relu("b", "a", x, Grid(0, 0, 1, 1)),), (("b", "y"),), epoch=0)
    net = netlist_of((queue("x", x), replace(queue("y", x, kind="output"), chip=1)), (), (), 4)
    net = with_program(replace(net, graphs={"g": first, "h": second}), Instruction("execute", ("g",)), Instruction("execute", ("h",)))
    found = run_cost(net)
    (epoch,) = found.epochs
    assert (epoch.graphs, epoch.chips, found.chips) == (("g", "h"), (0, 1), 2)
    assert epoch.ops[1].eth == pytest.approx(64 * 2080 / (16 * 12.5))


def pair(pipeline: Pipeline, links: tuple[tuple[int, int, int], ...]) -> Netlist:
    """The pipeline on chip 0, and an op on chip 1 that reads what it writes, over Ethernet, to a queue there."""
    net = pipeline(4)
    x = tensor(8, 8)
    second = Graph("h", 1, 4, (relu("c", "y", x, Grid(0, 0, 1, 1)),), (("c", "z"),))
    queues = net.queues | {"y": replace(net.queues["y"], chip=1), "z": replace(queue("z", x, (3,), "output"), chip=1)}
    return replace(net, chip=replace(net.chip, chips=2, links=links), queues=queues, graphs={"g": net.graphs["g"], "h": second})


@pytest.mark.parametrize(("links", "count"), [(((0, 1, 2),), 2), ((), 16)])
def test_queues_on_other_chips_are_written_over_ethernet(pipeline: Pipeline, links: tuple[tuple[int, int, int], ...], count: int) -> None:
    net = with_program(pair(pipeline, links), Instruction("execute", ("g",)), Instruction("execute", ("h",)))
    first, second = run_cost(net).epochs
    ops = {op.name: op for op in (*first.ops, *second.ops)}
    assert {name: op.eth for name, op in ops.items()} == {"a": 0, "b": pytest.approx(64 * 2080 / (count * 12.5)), "c": 0}
    assert ops["b"].dram_out == 0


def test_chips_work_on_different_rounds_of_a_loop(pipeline: Pipeline) -> None:
    """All but the first round of the one that is through sooner hide behind the other."""
    steps = [Instruction("loop", (100,)), Instruction("execute", ("g",)), Instruction("execute", ("h",)), Instruction("endloop")]
    found = run_cost(with_program(pair(pipeline, ((0, 1, 2),)), *steps))
    each = [epoch.cycles + N150.switch_of(sum(op.cores for op in epoch.ops)) for epoch in found.epochs]
    assert 100 * max(epoch.cycles for epoch in found.epochs) < found.device_cycles < 100 * max(each) + min(each)


def test_ops_on_the_host_cost_the_device_nothing(pipeline: Pipeline) -> None:
    net = pipeline(1)
    graph = net.graphs["g"]
    host = replace(graph, ops=tuple(replace(op, place=Host(), blocking=None) for op in graph.ops))
    found = run_cost(replace(net, graphs={"g": host}))
    assert (found.device_cycles, found.switches) == (0.0, 0)


def test_what_cannot_be_costed() -> None:
    x = tensor(1, 1)
    net = netlist_of((queue("x", x), queue("y", x, kind="output")), (relu("a", "x", x, Grid(0, 0, 1, 1)),), (("a", "y"),))
    for change, code in (
        ({"program": "forwards"}, "E0803"),
        ({"net": with_program(net, Instruction("execute", ("none",)))}, "E0608"),
        ({"net": replace(net, chip=replace(net.chip, target="host", arch="host", grid=None))}, "E0101"),
    ):
        with pytest.raises(Error) as raised:
            run_cost(change.get("net", net), change.get("program"))  # pyright: ignore[reportArgumentType]
        assert raised.value.code == code


@pytest.mark.parametrize(
    "path",
    [
        "perf_lib/graph_tests/grayskull/inference/bert_large_lofi_bfp8b_4encoders_oct5.yaml",
        "perf_lib/graph_tests/wormhole_b0/inference/resnet50_hifi3_fp16b.yaml",
    ],
)
def test_netlists_that_ran_on_silicon_never_stand_still(path: str) -> None:
    found = run_cost(to_netlist(read_netlist(NETLISTS / path)))
    assert all(epoch.jam is None for epoch in found.epochs)
    assert all(epoch.stall < 0.2 * epoch.interval for epoch in found.epochs)  # their joined paths were balanced by buffers
    assert found.math_peak < 0.5


def test_a_host_that_lays_inputs_in_tiles_slowly(pipeline: Callable[[int], Netlist]) -> None:
    """Ten inputs of 256 x 256 elements at a thousand elements a second; without a rate the link to the host counts alone."""
    net = pipeline(10)
    fast, slow = run_cost(net), run_cost(net, host_rate=1000.0)
    assert slow.host_cycles - fast.host_cycles == pytest.approx(10 * 256 * 256 / 1000 * slow.clock_hz)
    assert slow.device_cycles == fast.device_cycles
    assert slow.seconds == pytest.approx(655.36, rel=1e-3)


CHECKED = sorted(path for path in NETLISTS.rglob("*.yaml") if "tensors-per-second" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", CHECKED, ids=lambda path: path.stem)
def test_epochs_whose_time_was_measured(path: Path) -> None:
    """What the netlists themselves say of their epochs: cycles of a microbatch within a quarter, and rates above their bounds."""
    for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["performance-check"].values():
        found = run_cost(to_netlist(read_netlist(path)), entry["program-name"])
        (interval,) = {epoch.interval for epoch in found.epochs}  # the same on every chip
        if "cycles-per-tensor" in entry:
            assert interval == pytest.approx(entry["cycles-per-tensor"]["expected"], rel=0.25)
        assert found.clock_hz / interval >= entry["tensors-per-second"].get("min_bound", 0)
        assert "cycles-per-tensor" in entry or "min_bound" in entry["tensors-per-second"]

"""Sizes, memories and chips of queues."""

from __future__ import annotations

import pytest

from tests.passes.module_pairs import check_pair, parse_unit
from tests.passes.netlist.three_graphs import GRAPHS, QUEUES, RUN, graph, program, queue
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.rules.queues import QueueRule
from ttc.dialects.netlist.model import Blocking, Grid
from ttc.dialects.netlist.ops import QueueOp, graphs_of, queues_of
from ttc.passes.manager import run_pass
from ttc.passes.netlist.size_queues import SizeQueues, spread


def sized(lines: list[str], *rules: QueueRule, target: str = "n150") -> dict[str, QueueOp]:
    """Queues after the pass; ops stand on one core."""
    unit = parse_unit("\n".join(lines), target)
    for graph_op in graphs_of(unit.module).values():
        for op in graph_op.ops:
            op.place, op.blocking = Grid(0, 0, 1, 1), Blocking(1, (1, 1), (1, 1))
    run_pass(SizeQueues(rules), unit)
    return queues_of(unit.module)


def test_docstring() -> None:
    check_pair(SizeQueues())


def test_tensors_are_cut_along_their_longer_side() -> None:
    layout = "tiles(32, 32)"
    assert spread(TensorType((32, 1024), "Float32", layout), 6) == ((1, 6), Blocking(1, (1, 6), (1, 1)))
    assert spread(TensorType((8, 1024, 64), "Float32", layout), 6) == ((6, 1), Blocking(8, (6, 2), (1, 1)))
    assert spread(TensorType((10,), "Float32", layout), 6) == ((1, 1), Blocking(1, (1, 1), (1, 1)))
    assert spread(TensorType((32, 224), "Float32", layout), 6) == ((1, 4), Blocking(1, (1, 2), (1, 1)))
    assert spread(TensorType((32, 224), "Float32", layout), 6, even=True) == ((1, 1), Blocking(1, (1, 7), (1, 1)))


def test_a_queue_lies_on_the_chip_that_reads_it() -> None:
    graphs = [graph("g0", ["x", "w"], ["a"]), graph("g1", ["a"], ["b"], 1), graph("g2", ["b"], ["y"], 1)]
    found = sized([*QUEUES, *graphs, program(*RUN)], target="n300")
    assert {name: q.chip for name, q in found.items()} == {"x": 0, "w": 0, "a": 1, "b": 1, "y": 1}


@pytest.mark.parametrize(("made_with", "entries"), [("", 3), ("entries = 8, ", 8)])
def test_a_stash_holds_what_is_in_flight(made_with: str, entries: int) -> None:
    """As many microbatches as it was made with; if nobody said, those of a run: here three rounds of one."""
    stash = queue("b", "stash").replace("{", "{" + made_with, 1)
    programs = [
        program("netlist.loop() {count = 3} : () -> () {", *RUN[:2], "}"),
        program(RUN[2]).replace('sym = "p"', 'sym = "back"'),
    ]
    found = sized([*(q for q in QUEUES if '"b"' not in q), stash, *GRAPHS, *programs])["b"]
    assert (found.entries, found.buffer_bytes) == (entries, entries * 4128 + 32)


def test_a_queue_in_host_memory_lies_in_one_piece() -> None:
    wide = QUEUES[0].replace("32x32x", "32x512x")
    assert sized([wide])["x"].grid == (1, 6)
    found = sized([wide], QueueRule("x", "host"))["x"]
    assert (found.space, found.grid, found.buffer_bytes) == ("host", (1, 1), 16 * 4128 + 32)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (QueueRule("a", chip=1), "queue 'a'.*cannot lie on chip 1: chip 0 reads it"),
        (QueueRule("r", "dram"), "queue 'r'.*cannot lie in dram: its tensor is in row layout"),
    ],
)
def test_rules_that_cannot_hold(rule: QueueRule, message: str) -> None:
    rows = queue("r", "input").replace("tiles(32, 32)", "rows")
    with pytest.raises(Error, match=message) as caught:
        sized([*QUEUES, rows, *GRAPHS, program(*RUN)], rule)
    assert caught.value.code == "E0504"


def test_a_rule_about_no_queue() -> None:
    with pytest.raises(Error, match="no queue matches 'inpt'") as caught:
        sized([queue("input", "input")], QueueRule("inpt", "host"))
    assert (caught.value.code, caught.value.hint) == ("E0504", "did you mean 'input'?")

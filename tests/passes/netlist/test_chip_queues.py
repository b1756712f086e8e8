"""Queues of programs on several chips: constants copied, values written to each chip, inputs passed on."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.module_pairs import parse_unit
from tests.passes.netlist.three_graphs import QUEUES, RUN, graph, program, queue
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.netlist.ops import GraphOp, graphs_of, queues_of
from ttc.passes.base import Rewriter
from ttc.passes.netlist import chip_queues
from ttc.passes.netlist.chip_queues import ChipQueues
from ttc.passes.netlist.view import on_host

LINES = ["x", "w", "a", "b", "y"]


def parted(*lines: str) -> tuple[dict[str, GraphOp], dict[str, str], int]:
    """Graphs and kinds of queues after parting, and how many were added."""
    unit = parse_unit("\n".join(lines), "n300")
    given = len(queues_of(unit.module))
    ChipQueues(unit.module).part(Rewriter("assign-chips"))
    verify(unit.module)
    queues = queues_of(unit.module)
    return graphs_of(unit.module), {name: q.kind for name, q in queues.items()}, len(queues) - given


def reads(op: GraphOp) -> list[str]:
    return [read.queue for read in op.reads]


def writes(op: GraphOp) -> list[str]:
    return [write.queue for write in op.writes]


def test_one_chip_needs_nothing() -> None:
    _, kinds, made = parted(
        *QUEUES, graph("g0", ["x", "w"], ["a"]), graph("g1", ["a", "x"], ["b"]), graph("g2", ["b"], ["y"]), program(*RUN)
    )
    assert (list(kinds), made) == (LINES, 0)


def test_constants_lie_on_every_chip_that_reads_them() -> None:
    weight = queue("w", "constant").replace('type = "queue"', 'type = "ram", key = "w"')
    lines = [*(q for q in QUEUES if '"w"' not in q), weight]
    graphs, kinds, made = parted(*lines, graph("g0", ["x", "w"], ["a"]), graph("g1", ["a", "w"], ["b"], 1), graph("g2", ["b"], ["y"], 1))
    assert made == 1
    assert (reads(graphs["g0"]), reads(graphs["g1"])) == (["x", "w"], ["a", "w_chip1"])
    assert kinds["w_chip1"] == "constant"


def test_a_value_is_written_to_the_queue_of_each_chip() -> None:
    graphs, kinds, made = parted(*QUEUES, graph("g0", ["x"], ["a"]), graph("g1", ["a"], ["b"]), graph("g2", ["b", "a"], ["y"], 1))
    assert made == 1
    assert writes(graphs["g0"]) == ["a", "a_chip1"]
    assert (reads(graphs["g1"]), reads(graphs["g2"])) == (["a"], ["b", "a_chip1"])
    assert kinds["a_chip1"] == "edge"


def test_a_stash_that_two_chips_read_becomes_two() -> None:
    queues = [q.replace('"edge"', '"stash"').replace("{", "{entries = 4, ", 1) if '"a"' in q else q for q in QUEUES]
    graphs, kinds, made = parted(*queues, graph("g0", ["x"], ["a"]), graph("g1", ["a"], ["b"]), graph("g2", ["b", "a"], ["y"], 1))
    assert (made, kinds["a_chip1"]) == (1, "stash")
    module = graphs["g0"].parent_op()
    assert isinstance(module, ModuleOp)
    assert [queues_of(module)[name].entries for name in ("a", "a_chip1")] == [4, 4]


def test_an_input_is_passed_on_by_the_first_chip_that_reads_it() -> None:
    graphs, kinds, made = parted(
        *QUEUES, graph("g0", ["x"], ["a"]), graph("g1", ["a", "x"], ["b"], 1), graph("g2", ["b", "x"], ["y"], 2), program(*RUN)
    )
    assert made == 2
    assert [(op.sym, op.type) for op in graphs["g0"].ops] == [("g0_op", "map"), ("x_pass", "map")]
    assert writes(graphs["g0"]) == ["a", "x_chip1", "x_chip2"]
    assert (reads(graphs["g1"]), reads(graphs["g2"])) == (["a", "x_chip1"], ["b", "x_chip2"])
    assert {kinds["x"], kinds["x_chip1"], kinds["x_chip2"]} == {"input", "edge"}


def test_rows_stay_in_the_memory_of_the_host() -> None:
    rows = [q.replace("tiles(32, 32)", "rows") if '"x"' in q else q for q in QUEUES]
    text = [graph("g0", ["x"], ["a"]).replace("tiles(32, 32)", "rows"), graph("g1", ["x"], ["b"], 1).replace("tiles(32, 32)", "rows")]
    assert parted(*rows, *text)[2] == 0


def test_what_is_for_the_host() -> None:
    unit = parse_unit("\n".join([*QUEUES, graph("g0", ["x"], ["a"])]))
    assert not on_host(graphs_of(unit.module)["g0"])


def test_parting_lists_the_module_as_often_for_many_queues_as_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[int] = []

    def counted(module: ModuleOp) -> dict[str, GraphOp]:
        listed[-1] += 1
        return graphs_of(module)

    monkeypatch.setattr(chip_queues, "graphs_of", counted)
    for count in (2, 40):
        names = [f"x{i}" for i in range(count)]
        lines = [*(queue(name, "input") for name in names), *(q for q in QUEUES if '"x"' not in q)]
        listed.append(0)
        graphs, _, made = parted(*lines, graph("g0", [*names, "w"], ["a"]), graph("g1", ["a", *names], ["b"], 1))
        assert made == count
        assert [op.sym for op in graphs["g0"].ops] == ["g0_op", *(f"{name}_pass" for name in names)]
    assert listed[0] == listed[1]

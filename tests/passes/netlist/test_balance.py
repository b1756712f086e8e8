"""Placement of whole graphs: the docstring's example, graphs cut into epochs joined by queues, ops that fit no core."""

from __future__ import annotations

import pytest

from tests.passes.module_pairs import check_pair, parse_unit
from tests.passes.netlist.chains import chain, residual, tile
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.rules.placement import PlacementRule
from ttc.dialects.netlist.chips import chip
from ttc.dialects.netlist.model import Blocking, Grid
from ttc.dialects.netlist.ops import NetlistOp, graphs_of, programs_of, queues_of, set_chip
from ttc.dialects.netlist.to_model import verify_netlist
from ttc.passes.manager import run_pass
from ttc.passes.netlist.allocate_memory import AllocateMemory
from ttc.passes.netlist.balance import Balance
from ttc.passes.netlist.size_queues import SizeQueues
from ttc.runtime.perf.run import run_cost


def test_docstring() -> None:
    check_pair(Balance())


def test_a_long_graph_is_cut_into_epochs_joined_by_queues() -> None:
    unit = parse_unit(chain(12))
    run_pass(Balance(), unit)
    verify(unit.module)
    graphs = graphs_of(unit.module)
    assert len(graphs) > 1
    assert [op.sym for g in graphs.values() for op in g.ops] == [f"m{i}" for i in range(12)]
    edges = [q.sym for q in queues_of(unit.module).values() if q.kind == "edge"]
    assert len(edges) == len(graphs) - 1
    for before, after, edge in zip(list(graphs.values())[:-1], list(graphs.values())[1:], edges, strict=True):
        assert edge in [w.queue for w in before.writes]
        assert {r.queue for r in after.reads} == {edge, "w"}
    executed = [i.args[0] for i in programs_of(unit.module)["p"].instructions()]
    assert executed == list(graphs)
    for graph in graphs.values():
        cores = [core for op in graph.ops if isinstance(op.place, Grid) for core in op.place.cores()]
        assert len(cores) == len(set(cores)) > 0


def test_an_op_that_fits_no_core_names_its_source() -> None:
    t = tile(32, 64_000)
    text = f"""
    netlist.graph() {{sym = "g", chip = 0, input_count = 1}} : () -> () {{
      %x = netlist.read() {{queue = "x"}} : () -> {t}
      %y = netlist.op(%x) {{sym = "s", type = "attention"}} : ({t}) -> {t} {{
      ^bb0(%a: {t}):
        %b = tile.attention(%a, %a, %a, _) {{scale = 1.0, zero_masked = false}} : ({t}, {t}, {t}) -> {t}
        netlist.yield(%b) : ({t}) -> ()
      }} loc("/head/Attention")
    }}
    """
    with pytest.raises(Error, match=r"/head/Attention.*attention needs [\d,]+ bytes of L1") as caught:
        run_pass(Balance(), parse_unit(text))
    assert caught.value.code == "E0502"


def placed(text: str, *rules: PlacementRule, effort: int = 1) -> dict[str, NetlistOp]:
    unit = parse_unit(text)
    run_pass(Balance(effort, rules), unit)
    verify(unit.module)
    return {op.sym: op for graph in graphs_of(unit.module).values() for op in graph.ops}


def homes(text: str, *rules: PlacementRule) -> list[list[str]]:
    unit = parse_unit(text)
    run_pass(Balance(1, rules), unit)
    return [[op.sym for op in graph.ops] for graph in graphs_of(unit.module).values()]


def test_grids_starts_and_sides_are_as_asked_for() -> None:
    ops = placed(chain(3, 512), PlacementRule(name="/layer/m1", grid=(2, 4), start=(3, 2), transpose=True))
    assert ops["m1"].place == Grid(3, 2, 2, 4, transposed=True)


def test_inner_blocks_and_steps_are_as_asked_for() -> None:
    ops = placed(chain(2, 512), PlacementRule(name="*m1", u_kt=4, grid=(1, 2), stream="r"))
    blocking = ops["m1"].blocking
    assert ops["m1"].inner == (4, 4)
    assert isinstance(blocking, Blocking)
    assert blocking.mblock[1] * blocking.ublock[1] == 8


def test_policies() -> None:
    ops = placed(chain(2, 512), PlacementRule(name="*m0", policy="smallest"), PlacementRule(name="*m1", policy="fastest"))
    cores = {name: len(op.place.cores()) for name, op in ops.items() if isinstance(op.place, Grid)}
    assert cores["m0"] < cores["m1"]


def test_epochs_begin_where_asked_for() -> None:
    assert homes(chain(4, 64)) == [["m0", "m1", "m2", "m3"]]
    assert homes(chain(4, 64), PlacementRule(name="/layer/m2", epoch_break=True)) == [["m0", "m1"], ["m2", "m3"]]
    assert homes(chain(4, 64), PlacementRule(name="/layer/m[12]", epoch_break=True)) == [["m0"], ["m1", "m2", "m3"]]


def test_two_ops_that_must_stand_on_the_same_cores_take_turns() -> None:
    assert homes(chain(2, 64), PlacementRule(op="matmul", grid=(1, 1), start=(0, 0))) == [["m0"], ["m1"]]


def test_l1_holds_what_a_rule_asks_for() -> None:
    plain, asked = (placed(chain(2, 64, 8), *rules)["m1"] for rules in ((), (PlacementRule(name="*m1", buffer=6),)))
    tiles = [next(b.tiles * b.copies for b in op.buffers if b.role == "in0") for op in (plain, asked)]
    assert tiles[1] >= 3 * tiles[0]
    with pytest.raises(Error, match=r"m1.*cannot hold 6000 microbatches.*buffer = 6000") as caught:
        placed(chain(2, 64, 8), PlacementRule(name="*m1", buffer=6000))
    assert caught.value.code == "E0504"


def test_a_rule_about_no_op_names_the_nearest() -> None:
    with pytest.raises(Error, match="no op on the device matches") as caught:
        placed(chain(2, 64), PlacementRule(name="/layr/m1", grid=(1, 1)))
    assert (caught.value.code, caught.value.hint) == ("E0504", "the nearest source name: '/layer/m1'")


def test_what_waits_at_a_join_is_buffered() -> None:
    """Three matmuls each take all of a microbatch before they give any: as many wait for the sum."""
    op = placed(residual(3), effort=1)["sum"]
    sizes = {b.role: b.tiles * b.copies for b in op.buffers}
    assert sizes["in1"] > sizes["in0"]


@pytest.mark.parametrize("text", [chain(6, 256, 4), residual(2)], ids=["chain", "residual"])
def test_the_same_twice_and_never_worse_with_more_effort(text: str) -> None:
    def run(effort: int) -> tuple[str, float]:
        unit = parse_unit(text)
        set_chip(unit.module, chip(unit.target))
        run_pass(Balance(effort), unit)
        run_pass(SizeQueues(), unit)
        run_pass(AllocateMemory(), unit)
        shown = print_op(unit.module)
        return shown, run_cost(verify_netlist(unit.module)).device_cycles

    assert run(1) == run(1)
    costs = [run(effort)[1] for effort in range(3)]
    assert costs[2] <= costs[0] * 1.001


def test_remarks_list_candidates_and_what_decided() -> None:
    unit = parse_unit(chain(3, 1024, 16))
    report = run_pass(Balance(), unit)
    remarks = [remark for remark in report.remarks if remark.location[0].startswith("/layer/")]
    assert len(remarks) == 3
    assert any("sets the pace" in remark.message for remark in remarks)
    for remark in remarks:
        rows = remark.data["candidates"]
        assert isinstance(rows, list)
        assert rows[0]["verdict"] == "chosen"
        assert rows[0]["cores"] == remark.data["cores"]
        assert len(rows) <= 17
        assert any("slower" in row["verdict"] or "more cores" in row["verdict"] or "bytes of L1" in row["verdict"] for row in rows[1:])


def test_another_effort_is_an_error() -> None:
    unit = parse_unit(chain(2, 64))
    with pytest.raises(Error, match="E0101.*there is no effort 3"):
        run_pass(Balance(3), unit)

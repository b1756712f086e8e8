"""Placement of whole graphs: the docstring's example, graphs cut into epochs joined by queues, ops that fit no core."""

from __future__ import annotations

import pytest

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir import verify
from ttc.dialects.netlist.model import Grid
from ttc.dialects.netlist.ops import graphs_of, programs_of, queues_of
from ttc.passes.manager import run_pass
from ttc.passes.netlist.balance import Balance


def tile(rows: int, cols: int) -> str:
    return f'!tile.tensor<"{rows}x{cols}xFloat32", "tiles(32, 32)">'


def chain(ops: int) -> str:
    """A graph of matmuls, each of the same weight and the one before it, every third also used by the last."""
    t = tile(1024, 1024)
    body = [f'%x = netlist.read() {{queue = "x"}} : () -> {t}', f'%w = netlist.read() {{queue = "w"}} : () -> {t}']
    previous = "%x"
    for i in range(ops):
        body.append(
            f'%y{i} = netlist.op({previous}, %w) {{sym = "m{i}", type = "matmul"}} : ({t}, {t}) -> {t} {{\n'
            f"^bb0(%a: {t}, %b: {t}):\n"
            f"  %c = tile.matmul(%a, %b, _) {{transpose_a = false, transpose_b = false}} : ({t}, {t}) -> {t}\n"
            f"  netlist.yield(%c) : ({t}) -> ()\n}}"
        )
        previous = f"%y{i}"
    lines = "\n".join(body)
    return f"""
    netlist.queue() {{sym = "x", kind = "input", type = "queue", tensor = {t}}} : () -> ()
    netlist.queue() {{sym = "w", kind = "constant", type = "ram", key = "w", tensor = {t}}} : () -> ()
    netlist.queue() {{sym = "y", kind = "output", type = "queue", tensor = {t}}} : () -> ()
    netlist.graph() {{sym = "g", chip = 0, input_count = 1}} : () -> () {{
    {lines}
    netlist.write({previous}) {{queue = "y"}} : ({t}) -> ()
    }}
    netlist.program() {{sym = "p"}} : () -> () {{
      netlist.execute() {{graph = "g"}} : () -> ()
    }}
    """


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

"""The lowering to netlists: the docstring's example, views inside their readers, results that nothing computes, host segments."""

from __future__ import annotations

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.netlist.ops import graphs_of, queues_of
from ttc.passes.manager import run_pass
from ttc.passes.tile_to_netlist.lower_to_netlist import LowerToNetlist

A = '!tile.tensor<"64x64xFloat32", "tiles(32, 32)">'
B = '!tile.tensor<"2x32x64xFloat32", "tiles(32, 32)">'


def lowered(body: str, result: str = A):
    unit = parse_unit(
        f'func.func @f(%x: {A} {{ttc.name = "x", ttc.dtype = f32}}) -> ({result} {{ttc.name = "y", ttc.dtype = f32}}) {{ {body} }}'
    )
    run_pass(LowerToNetlist(), unit)
    verify(unit.module)
    return unit


def test_docstring() -> None:
    check_pair(LowerToNetlist())


def test_views_are_read_through() -> None:
    unit = lowered(
        f"%v = tile.reshape(%x) {{shape = [2, 32, 64]}} : ({A}) -> {B}\n"
        f'%y = tile.map(%v) {{fn = "relu"}} : ({B}) -> {B}\nfunc.return %y : {B}',
        B,
    )
    (graph,) = graphs_of(unit.module).values()
    assert [[w.name for w in op.works] for op in graph.ops] == [["tile.reshape", "tile.map"]]


def test_an_argument_returned_is_copied() -> None:
    unit = lowered(f"func.return %x : {A}")
    (graph,) = graphs_of(unit.module).values()
    assert [op.type for op in graph.ops] == ["map"]
    assert [q.kind for q in queues_of(unit.module).values()] == ["input", "output"]


def test_a_tensor_of_the_host_returned_is_copied_there() -> None:
    unit = parse_unit(
        'func.func @f(%x: tensor<3xi64> {ttc.name = "x"}) -> (tensor<3xi64> {ttc.name = "y"}) { func.return %x : tensor<3xi64> }'
    )
    run_pass(LowerToNetlist(), unit)
    verify(unit.module)
    (graph,) = graphs_of(unit.module).values()
    assert [op.type for op in graph.ops] == ["identity"]


def test_host_ops_run_in_a_graph_of_their_own() -> None:
    h = "tensor<64x64xf32>"
    unit = lowered(
        f'%a = tile.map(%x) {{fn = "relu"}} : ({A}) -> {A}\n'
        f"%h = tile.to_host(%a) : ({A}) -> {h}\n"
        f"%n = nn.floor(%h) : ({h}) -> {h}\n"
        f"%d = tile.from_host(%n) : ({h}) -> {A}\n"
        f'%y = tile.map(%d) {{fn = "exp"}} : ({A}) -> {A}\n'
        f"func.return %y : {A}"
    )
    graphs = list(graphs_of(unit.module).values())
    assert [[op.type for op in g.ops] for g in graphs] == [["map"], ["to_host", "floor", "from_host"], ["map"]]
    assert [q.kind for q in queues_of(unit.module).values()].count("edge") == 2

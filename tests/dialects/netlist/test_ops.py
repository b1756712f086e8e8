"""Ops of the dialect: accessors, text, verification of their own rules."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.locations import named_location, source_names
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.netlist import model
from ttc.dialects.netlist import ops as netlist_ops
from ttc.dialects.netlist.ops import (
    AddOp,
    ExecuteOp,
    GraphOp,
    IncOp,
    IncwrapOp,
    LoopOp,
    MulOp,
    NetlistOp,
    ProgramOp,
    QueueOp,
    ReadOp,
    SetOp,
    VarOp,
    WriteOp,
    YieldOp,
    chip_of,
    graphs_of,
    programs_of,
    queues_of,
)
from ttc.dialects.tile.base import Tile, tile_type
from ttc.dialects.tile.base import dialect as tile_dialect

TILE = tile_type(Tile((64, 128), "Float32", (32, 32)))


def identity(kind=TILE) -> Block:
    block = Block(arg_types=[kind])
    block.add_op(YieldOp.build(block.args[0]))
    return block


def read_back(module: ModuleOp) -> ModuleOp:
    return parse_module(print_op(module), "test", [tile_dialect, netlist_ops.dialect])


def test_fields_of_a_queue_are_values_of_the_model() -> None:
    queue = QueueOp.build("w", "parameter", TILE, type="ram", key="w", entries=1)
    assert (queue.sym, queue.kind, queue.type, queue.key, queue.entries, queue.tensor) == ("w", "parameter", "ram", "w", 1, TILE)
    assert (queue.space, queue.grid, queue.blocking, queue.buffers, queue.lifetime) == (None,) * 5
    queue.space, queue.grid, queue.lifetime = "dram", (2, 1), (0, 3)
    queue.blocking = model.Blocking(1, (1, 2), (1, 2), "c")
    queue.buffers = ((0, 64), (1, 64))
    (found,) = read_back(ModuleOp([queue])).ops
    assert isinstance(found, QueueOp)
    assert (found.space, found.grid, found.lifetime) == ("dram", (2, 1), (0, 3))
    assert (found.blocking, found.buffers) == (model.Blocking(1, (1, 2), (1, 2), "c"), ((0, 64), (1, 64)))
    found.lifetime = None
    assert "lifetime" not in found.properties


def test_fields_of_an_op_are_values_of_the_model() -> None:
    graph = GraphOp.build("g", input_count=3)
    read = graph.add(ReadOp.build("x", TILE))
    op = graph.add(NetlistOp.build("relu", [read.value], identity(), named_location("node"), type="map", fidelity="LoFi"))
    assert (op.place, op.blocking, op.buffers, op.inner, op.cycles) == (None, None, (), None, None)
    assert (op.result.type, op.graph, op.works, source_names(op.location)) == (TILE, graph, [], ("node",))
    op.place, op.inner, op.cycles = model.Grid(1, 2, 3, 4, transposed=True), (4, 2), 99
    op.buffers = (model.Buffer("out", 4, 4128, 2), model.Buffer("in0", 8, 4128))
    (found,) = read_back(ModuleOp([graph])).ops
    assert isinstance(found, GraphOp)
    (again,) = found.ops
    assert (again.place, again.inner, again.cycles, again.fidelity) == (model.Grid(1, 2, 3, 4, transposed=True), (4, 2), 99, "LoFi")
    assert again.buffers == op.buffers
    assert (found.sym, found.chip, found.input_count) == ("g", 0, 3)
    again.place = model.Host()
    assert "place = #netlist.host," in print_op(again)
    assert read_back(ModuleOp([found.clone()])).is_structurally_equivalent(ModuleOp([found.clone()]))


def test_instructions_are_flat_and_in_order() -> None:
    program = ProgramOp.build("main", [], [])
    program.add(VarOp.new({"var": "$i", "value": 4}))
    loop = program.add(LoopOp.build("$i"))
    loop.add(ExecuteOp.build("g"))
    loop.add(LoopOp.build(2)).add(IncwrapOp.new({"var": "$i", "by": 1, "wrap": "$i"}))
    program.add(SetOp.new({"var": "$i", "value": "$i"}))
    program.add(AddOp.new({"var": "$i", "a": 1, "b": "$i"}))
    program.add(MulOp.new({"var": "$i", "a": "$i", "b": 3}))
    program.add(IncOp.new({"var": "$i", "by": -1}))
    (found,) = read_back(ModuleOp([program])).ops
    assert isinstance(found, ProgramOp)
    assert [(i.opcode, *i.args) for i in found.instructions()] == [
        ("var", "$i", 4), ("loop", "$i"), ("execute", "g"), ("loop", 2), ("incwrap", "$i", 1, "$i"), ("endloop",), ("endloop",),
        ("set", "$i", "$i"), ("add", "$i", 1, "$i"), ("mul", "$i", "$i", 3), ("inc", "$i", -1),
    ]  # fmt: skip


def test_modules_know_their_parts_by_name() -> None:
    queue, graph, program = QueueOp.build("x", "input", TILE), GraphOp.build("g"), ProgramOp.build("main", [], [])
    module = ModuleOp([queue, graph, program])
    assert (queues_of(module), graphs_of(module), programs_of(module)) == ({"x": queue}, {"g": graph}, {"main": program})
    with pytest.raises(Error) as error:
        chip_of(module)
    assert error.value.code == "E0609"


def test_work_fits_the_op_around_it() -> None:
    graph = GraphOp.build("g")
    read = graph.add(ReadOp.build("x", TILE))
    graph.add(WriteOp.build(graph.add(NetlistOp.build("a", [read.value], identity(), named_location("a"), type="map")).result, "y"))
    verify(ModuleOp([graph]))
    other = tile_type(Tile((64, 64), "Float32", (32, 32)))
    graph.add(NetlistOp.build("b", [read.value], identity(other), named_location("b"), type="map"))
    with pytest.raises(Error) as error:
        verify(graph.parent_op() or graph)
    assert (error.value.code, error.value.where) == ("E0302", "b")


def test_work_ends_in_a_yield() -> None:
    with pytest.raises(Error) as error:
        NetlistOp.build("a", [], Block(), named_location("a"), type="map")
    assert error.value.code == "E0901"


@pytest.mark.parametrize(
    "text",
    [
        'netlist.op() {place = #netlist.grid<row = 0>, sym = "a"} : () -> ()',
        'netlist.op() {place = #netlist.grid<row = 0, row = 1, col = 0, rows = 1, cols = 1>} : () -> ()',
        'netlist.op() {place = #netlist.grid<row = "0", col = 0, rows = 1, cols = 1>} : () -> ()',
        'netlist.op() {place = #netlist.host<core = 1>} : () -> ()',
        'netlist.queue() {buffers = #netlist.addresses<[[0, 1, 2]]>} : () -> ()',
        'netlist.queue() {buffers = #netlist.addresses<[0, 1]>} : () -> ()',
        'netlist.queue() {blocking = #netlist.blocking<t = 1, mblock = [1], ublock = [1, 1]>} : () -> ()',
        'netlist.queue() {colour = "red"} : () -> ()',
    ],
)  # fmt: skip
def test_text_that_does_not_parse(text: str) -> None:
    with pytest.raises(Error) as error:
        parse_module(text, "test", [tile_dialect, netlist_ops.dialect])
    assert error.value.code == "E0301"


@pytest.mark.parametrize("name", ["", 'a"b', "a\\b", "\\n", "\\41", "x\ny", "x\ty", "a\vb\fc", "\x01\x7f", "日本/é", "'$%{}", "\x85"])
def test_any_name_survives_text(name: str) -> None:
    """Names of source nodes are whatever a model file says, in attributes and in locations."""
    (found,) = read_back(ModuleOp([QueueOp.build(name, "input", TILE, location=named_location(name))])).ops
    assert isinstance(found, QueueOp)
    assert (found.sym, source_names(found.location)) == (name, (name,))

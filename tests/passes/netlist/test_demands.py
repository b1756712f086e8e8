"""What queues ask of memory: bytes moved by epoch, distance, parity."""

from __future__ import annotations

from dataclasses import replace

from tests.passes.module_pairs import parse_unit
from tests.passes.netlist.three_graphs import GRAPHS, QUEUES, RUN, program
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.model import Blocking, Buffer, Grid
from ttc.dialects.netlist.ops import graphs_of, queues_of
from ttc.passes.netlist.channels import ChannelDemand
from ttc.passes.netlist.demands import Demands, entries_read, uses_of

N150 = load_target("n150")
MATMUL = """
netlist.queue() {sym = "x", kind = "input", type = "queue", tensor = X} : () -> ()
netlist.queue() {sym = "w", kind = "constant", type = "ram", tensor = X} : () -> ()
netlist.graph() {sym = "g", chip = 0, input_count = 16} : () -> () {
  %x = netlist.read() {queue = "x"} : () -> X
  %w = netlist.read() {queue = "w"} : () -> X
  %y = netlist.op(%x, %w) {sym = "m", type = "matmul"} : (X, X) -> X {
  ^bb0(%a: X, %b: X):
    %c = tile.matmul(%a, %b, _) {transpose_a = false, transpose_b = false} : (X, X) -> X
    netlist.yield(%c) : (X) -> ()
  }
}
netlist.program() {sym = "p"} : () -> () {
  netlist.execute() {graph = "g"} : () -> ()
}
""".replace("X", '!tile.tensor<"128x128xFloat32", "tiles(32, 32)">')


def test_uses() -> None:
    unit = parse_unit("\n".join([*QUEUES, *GRAPHS, program(*RUN)]))
    uses = uses_of(unit.module)
    assert {name: (use.traffic, use.written, use.on_device) for name, use in uses.items()} == {
        "x": ({1: 1}, None, False),
        "w": ({}, None, False),
        "a": ({1: 1, 3: 1}, 0, False),
        "b": ({3: 1, 5: 1}, 1, False),
        "y": ({5: 1}, 2, False),
    }


def test_entries_that_cores_read() -> None:
    """Two rows of cores: each reads all of the weight, once if L1 holds it and otherwise with every microbatch."""
    unit = parse_unit(MATMUL)
    (op,) = graphs_of(unit.module)["g"].ops
    op.place, op.blocking = Grid(0, 0, 2, 1), Blocking(1, (2, 4), (1, 1))
    op.buffers = (Buffer("in1", 16, 4128, 1), Buffer("out", 8, 4128, 2))
    assert entries_read(op, 1, kept=True) == (1.0, True)
    assert entries_read(op, 1, kept=False) == (1.0, False)
    assert uses_of(unit.module)["w"].traffic == {0: 1.0}
    op.buffers = (Buffer("in1", 4, 4128, 1), Buffer("out", 8, 4128, 2))
    assert entries_read(op, 1, kept=True) == (1.0, False)
    assert uses_of(unit.module)["w"].traffic == {1: 16.0}
    assert uses_of(unit.module)["x"].traffic == {1: 16.0}


def test_demands() -> None:
    unit = parse_unit("\n".join([*QUEUES, *GRAPHS, program(*RUN)]))
    queue = queues_of(unit.module)["a"]
    queue.buffer_bytes, queue.entries, queue.grid = 4100, 1, (1, 2)
    demand = Demands(N150, uses_of(unit.module), 3).of(queue, (0, 1), 4)
    assert demand == ChannelDemand("a", 4128, 2, 0, 1, ((1, 4100), (3, 4100)), (), 0, 4)
    assert Demands(N150, uses_of(unit.module), 3).of(queue, None, None).last == 2


def test_hops_are_those_of_the_core_in_the_middle_of_the_readers() -> None:
    unit = parse_unit("\n".join([*QUEUES, *GRAPHS, program(*RUN)]))
    for graph in graphs_of(unit.module).values():
        for op in graph.ops:
            op.place = Grid(0, 0, 1, 1)
    uses = uses_of(unit.module)
    queue = queues_of(unit.module)["x"]
    hops = Demands(N150, uses, 3).of(queue, (0, 0), None).hops
    assert hops == (1, 7, 4, 5, 6, 8)  # of the core at x 1, y 1
    unknown = replace(N150, dram_nodes=())
    assert Demands(unknown, uses, 3).of(queue, (0, 0), None).hops == ()

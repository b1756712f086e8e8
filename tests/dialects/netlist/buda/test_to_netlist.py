"""From the form to the plain netlist: dims, kinds, defaults, epochs, instances, programs, and what settings keep."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.dialects.netlist.checks import check
from ttc.dialects.netlist.model import Blocking, Buffer, Ethernet, Grid, Instruction, Netlist, QueueSetting

QUEUE = "entries: 4, grid_size: [2, 1], t: 3, mblock: [1, 2], ublock: [2, 1], df: Bfp8_b, target_device: 0, loc: dram"
IN_DRAM = "dram: [[0, 0x10000000], [1, 0x10000000]]"
OP = "in_df: [Bfp8_b], acc_df: Float16_b, out_df: Bfp8_b, intermed_df: Float16_b, ublock_order: r, buf_size_mb: 2, math_fidelity: HiFi3"
BLOCKS = "grid_size: [2, 1], t: 3, mblock: [1, 2], ublock: [2, 1]"


def netlist(queues: str = "", graphs: str = "", programs: str = "", arch: str = "wormhole_b0", rest: str = "") -> Netlist:
    """The plain netlist of sections whose lines are given, checked."""
    found = to_netlist(read_netlist(text(queues, graphs, programs, arch, rest).encode(), "a.yaml"))
    assert check(found) == []
    return found


def text(queues: str = "", graphs: str = "", programs: str = "", arch: str = "wormhole_b0", rest: str = "") -> str:
    """A netlist that copies x to y, with further lines in its sections."""
    lines = [
        f"devices: {{arch: {arch}}}",
        "queues:",
        f"  x: {{type: queue, input: HOST, {QUEUE}, {IN_DRAM}}}",
        f"  y: {{type: queue, input: copy, {QUEUE}, dram: [[0, 0x20000000], [1, 0x20000000]]}}",
        queues,
        "graphs:",
        "  g:",
        "    target_device: 0",
        "    input_count: 2",
        f"    copy: {{type: nop, grid_loc: [1, 2], inputs: [x], {OP}, {BLOCKS}}}",
        graphs,
        "programs:",
        "  - p:",
        "    - var: {$l: 0, $g: 0}",
        "    - execute: {graph_name: g, queue_settings: {x: {prologue: true, rd_ptr_local: $l, rd_ptr_global: $g}}}",
        programs,
        rest,
    ]
    return "\n".join(line for line in lines if line)


def test_tensors_and_sizes_follow_from_blocks() -> None:
    found = netlist()
    x = found.queues["x"]
    assert x.tensor == TensorType((3, 128, 64), "Bfp8_b", "tiles(32, 32)")
    assert x.blocking == Blocking(3, (1, 2), (2, 1))
    assert (x.kind, x.source, x.entries, x.grid, x.buffers) == ("input", "HOST", 4, (2, 1), ((0, 0x10000000), (1, 0x10000000)))
    assert x.buffer_bytes == 32 + 4 * 3 * 2 * 2 * 1120
    op = found.graphs["g"].ops[0]
    assert (op.type, op.place, op.blocking) == ("nop", Grid(1, 2, 2, 1), Blocking(3, (1, 2), (2, 1)))
    assert (op.intermediate, op.accumulate, op.fidelity, op.rounding) == ("Float16_b", "Float16_b", "HiFi3", "none")
    assert op.buffers == (Buffer("in0", 2, 1120, 2), Buffer("out", 4, 1120, 2))
    assert op.location == ("a.yaml:9",)
    assert found.graphs["g"].writes == (("copy", "y"),)
    assert (found.chip.target, found.chip.chips, found.chip.grid, found.positions) == ("wormhole_b0", 1, (10, 8), "pointers")


def test_defaults_leave_no_settings() -> None:
    found = netlist()
    assert found.settings == ()
    assert {item.settings for item in (*found.queues.values(), *found.graphs.values(), *found.graphs["g"].ops)} == {()}


KINDS = {
    "a ram of the host": ("w: {type: ram, input: HOST, %s, dram: [[2, 0], [3, 0]]}", "w", "parameter", "HOST"),
    "what no op reads": ("", "y", "output", "copy"),
    "a ram that an op fills": ("w: {type: ram, input: copy, %s, dram: [[2, 0], [3, 0]]}", "w", "output", "copy"),
    "a view of a ram that an op fills": (
        "w: {type: ram, input: copy, %s, dram: [[2, 0], [3, 0]]}\n  v: {type: ram, input: HOST, alias: w, %s, dram: [[2, 0], [3, 0]]}",
        "v",
        "state",
        "HOST",
    ),
    "another netlist's": ("w: {type: queue, input: net2net_other, %s, dram: [[2, 0], [3, 0]]}", "w", "input", "HOST"),
}


@pytest.mark.parametrize("case", KINDS)
def test_kinds_of_queues(case: str) -> None:
    lines, name, kind, source = KINDS[case]
    queue = netlist("  " + lines.replace("%s", QUEUE) if lines else "").queues[name]
    assert (queue.kind, queue.source) == (kind, source)


def test_a_queue_between_graphs_is_an_edge() -> None:
    graph = f"  h:\n    target_device: 0\n    input_count: 2\n    last: {{type: nop, grid_loc: [0, 0], inputs: [y], {OP}, {BLOCKS}}}"
    found = netlist(graphs=graph)
    assert found.queues["y"].kind == "edge"
    assert [graph.epoch for graph in found.graphs.values()] == [None, None]


def test_a_queue_between_programs_is_a_stash() -> None:
    graph = f"  h:\n    target_device: 0\n    input_count: 2\n    last: {{type: nop, grid_loc: [0, 0], inputs: [y], {OP}, {BLOCKS}}}"
    other = "  - q:\n    - var: {$l: 0, $g: 0}\n    - execute: {graph_name: h, queue_settings: {y: {rd_ptr_local: $l, rd_ptr_global: $g}}}"
    assert netlist(graphs=graph, programs=other).queues["y"].kind == "stash"
    again = "    - execute: {graph_name: g, queue_settings: {x: {rd_ptr_local: $l, rd_ptr_global: $g}}}"
    assert netlist(graphs=graph, programs=f"{other}\n{again}").queues["y"].kind == "edge"  # one program fills it and reads it
    ram = f"  y2: {{type: ram, input: last, {QUEUE}, dram: [[0, 0x30000000], [1, 0x30000000]]}}"
    assert netlist(ram, graph, other).queues["y2"].kind == "output"


def test_flat_and_untilized_queues_lie_in_rows() -> None:
    flat = f"  f: {{type: queue, input: HOST, layout: flat, {QUEUE.replace('Bfp8_b', 'Float16')}, {IN_DRAM}}}"
    assert netlist(flat).queues["f"].tensor == TensorType((3, 128, 64), "Float16", "rows")
    assert netlist(flat).queues["f"].buffer_bytes == 32 + 4 * 3 * 64 * 64 * 2
    one = "grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [1, 1]"
    out = f"  u: {{type: queue, input: flatten, entries: 2, {one}, df: Float16, target_device: 0, loc: host, host: [0x40]}}"
    source = f"  s: {{type: queue, input: HOST, entries: 2, {one}, df: Float16, target_device: 0, loc: dram, dram: [[0, 0x100]]}}"
    op = "inputs: [s], in_df: [Float16], acc_df: Float16, out_df: Float16, intermed_df: Float16, ublock_order: r, buf_size_mb: 1"
    graph = f"    flatten: {{type: nop, grid_loc: [4, 4], {op}, math_fidelity: LoFi, untilize_output: true, {one}}}"
    found = netlist(f"{out}\n{source}", graph)
    assert (found.queues["u"].tensor.layout, found.queues["u"].location) == ("rows", "host")
    assert found.queues["u"].buffers == ((0, 0x40),)


def test_smaller_tiles_are_in_the_layout() -> None:
    small = QUEUE + ", tile_dim: [16, 32]"
    found = netlist(f"  s: {{type: queue, input: HOST, {small}, {IN_DRAM}}}").queues["s"]
    assert found.tensor == TensorType((3, 64, 64), "Bfp8_b", "tiles(16, 32)")


def test_manipulations_of_a_queue_are_its_view() -> None:
    hstacked = "entries: 2, grid_size: [2, 1], t: 1, mblock: [1, 6], ublock: [2, 1], df: Bfp8_b, target_device: 0, loc: dram"
    queue = netlist(f"  z: {{type: queue, input: copy, input_tms: [hstack: 3], {hstacked}, {IN_DRAM}}}").queues["z"]
    assert queue.view is not None
    assert queue.view.inputs[0].shape == (3, 128, 64)
    assert queue.tensor.shape == (1, 128, 192)
    assert queue.settings == (("input_tms", (("hstack", 3),)),)


def test_ops_stand_in_order_of_computation() -> None:
    first = f"    early: {{type: nop, grid_loc: [0, 0], inputs: [late], {OP}, {BLOCKS}}}"
    second = f"    late: {{type: nop, grid_loc: [4, 0], inputs: [x], {OP}, {BLOCKS}}}"
    graph = netlist(graphs=f"{first}\n{second}").graphs["g"]
    assert [op.name for op in graph.ops] == ["copy", "late", "early"]
    assert graph.settings == (("order", ("copy", "early", "late")),)


def test_graphs_that_exchange_values_share_an_epoch() -> None:
    graph = f"  h:\n    target_device: 1\n    input_count: 2\n    there: {{type: nop, grid_loc: [0, 0], inputs: [copy], {OP}, {BLOCKS}}}"
    found = netlist(graphs=graph)
    assert {name: (graph.chip, graph.epoch) for name, graph in found.graphs.items()} == {"g": (0, 0), "h": (1, 0)}
    assert found.chip.chips == 2


def test_ethernet_ops_take_no_core() -> None:
    attributes = "attributes: {ingress_channels: [8], egress_channels: [0, 1], dest_device: 1}"
    blocks = BLOCKS.replace("[2, 1]", "[1, 1]", 1).replace("mblock: [1, 2]", "mblock: [2, 2]")
    op = f"    send: {{type: ethernet_datacopy, {attributes}, inputs: [copy], {OP}, {blocks}}}"
    other = f"  h:\n    target_device: 1\n    input_count: 2\n    there: {{type: nop, grid_loc: [0, 0], inputs: [send], {OP}, {BLOCKS}}}"
    assert netlist(graphs=f"{op}\n{other}").graphs["g"].ops[1].place == Ethernet(1, (8,), (0, 1))


def test_instances() -> None:
    devices = text().replace("target_device: 0", "target_device: [0, 2]")
    found = to_netlist(read_netlist(devices.encode(), "a.yaml"))
    assert list(found.queues) == ["x.0", "x.2", "y.0", "y.2"]
    assert {name: (graph.chip, graph.ops[0].inputs) for name, graph in found.graphs.items()} == {"g.0": (0, ("x.0",)), "g.2": (2, ("x.2",))}
    assert found.queues["y.2"].source == "copy.2"
    assert [step.args[0] for step in found.programs["p"].instructions if step.opcode == "execute"] == ["g.0", "g.2"]
    assert found.queues["x.2"].settings == (("instances", ("x", (0, 2))),)


def test_programs() -> None:
    steps = """
    - param: [$p, $q]
    - staticvar: {$s: 3}
    - allocate_queue: [y]
    - varinst: [$l, incwrap, 2, 8]
    - varinst: [$g, add, $l, $p]
    - loop: $p
    - execute: {graph_name: g, queue_settings: {x: {zero: $q, rd_ptr_local: 1, rd_ptr_global: $g, global_rdptr_autoinc: 1}}}
    - endloop
    - deallocate_queue: [y]"""
    found = netlist(programs=steps.lstrip("\n")).programs["p"].instructions
    setting = QueueSetting(
        "x", zero="$q", rd_ptr_local=1, rd_ptr_global="$g", rd_ptr_autoinc=1, global_rdptr_autoinc=1, global_wrptr_autoinc=1
    )
    assert found[3:] == (
        Instruction("param", ("$p",)),
        Instruction("param", ("$q",)),
        Instruction("staticvar", ("$s", 3)),
        Instruction("allocate", ("y",)),
        Instruction("incwrap", ("$l", 2, 8)),
        Instruction("add", ("$g", "$l", "$p")),
        Instruction("loop", ("$p",)),
        Instruction("execute", ("g",), (setting,)),
        Instruction("endloop"),
        Instruction("deallocate", ("y",)),
    )
    assert found[2].settings[0].prologue is True


def test_what_has_no_field_is_a_setting() -> None:
    extra = "buf_size_mb: 2, overlay_size: 65536, gradient_op: true, input_buf_min_size_tiles: [0]"
    written = text(rest="test-config:\n  test-args: {seed: 1, rate: 0.5, names: [a, null]}").replace("buf_size_mb: 2", extra)
    found = to_netlist(read_netlist(written.encode(), "a.yaml"))
    assert found.graphs["g"].ops[0].settings == (("overlay_size", 65536), ("gradient_op", True))
    assert found.settings == (("extra", (("test-config", (("test-args", (("seed", 1), ("rate", 0.5), ("names", ("a", None)))),)),)),)


def test_matmul_has_inner_blocks_and_holds_partial_results() -> None:
    weight = (
        "entries: 1, grid_size: [1, 1], t: 3, mblock: [2, 2], ublock: [1, 1], df: Bfp8_b, target_device: 0, loc: dram, dram: [[2, 0x100]]"
    )
    op = OP.replace("in_df: [Bfp8_b]", "in_df: [Bfp8_b, Bfp8_b]")
    product = f"    mm: {{type: matmul, grid_loc: [4, 0], inputs: [x, w], {op}, {BLOCKS}, attributes: {{m_k: 2, u_kt: 1}}}}"
    found = netlist(f"  w: {{type: ram, input: HOST, {weight}}}", product).graphs["g"].ops[1]
    assert found.inner == (2, 1)
    assert {b.role: (b.tiles, b.copies) for b in found.buffers} == {"in0": (2, 2), "in1": (2, 2), "out": (4, 2), "intermed": (4, 1)}
    assert found.settings == ()


def test_architectures() -> None:
    written = read_netlist(text(arch="[grayskull, wormhole_b0]").encode(), "a.yaml")
    assert to_netlist(written).chip.arch == "grayskull"
    assert to_netlist(written, "wormhole_b0").chip.grid == (10, 8)
    assert to_netlist(written).settings == (("archs", ("grayskull", "wormhole_b0")),)
    for arch, code in (("blackhole", "E0607"), ("gs", "E0101")):
        with pytest.raises(Error) as error:
            to_netlist(written, arch)
        assert error.value.code == code


BROKEN = {
    "an input that is not there": ("inputs: [x]", "inputs: [nothing]", "E0601"),
    "no blocks": ("t: 3, mblock: [1, 2], ublock: [2, 1]}", "t: 3}", "E0602"),
    "no place": ("grid_loc: [1, 2], ", "", "E0603"),
    "a circle": ("inputs: [x]", "inputs: [copy]", "E0606"),
    "an unknown architecture": ("wormhole_b0", "gravity", "E0607"),
    "an unknown fused op": ("type: nop", "type: fused_op, attributes: {fused_op_id: 1}", "E0601"),
    "a tensor beyond all bounds": ("t: 3, mblock: [1, 2], ublock: [2, 1]}", "t: 60000, mblock: [60000, 60000], ublock: [2, 1]}", "E0602"),
    "a device beyond all bounds": ("target_device: 0\n", "target_device: 123456789\n", "E0603"),
    "an op of a queue's name": ("    copy:", "    x:", "E0601"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_an_error(case: str) -> None:
    old, new, code = BROKEN[case]
    assert old in text()
    with pytest.raises(Error) as error:
        to_netlist(read_netlist(text().replace(old, new).encode(), "a.yaml"))
    assert error.value.code == code

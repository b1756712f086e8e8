"""From the plain netlist to the form: what was written comes back, and what the compiler makes becomes a netlist of Buda's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.buda.form import BudaInstruction, BudaNetlist, BudaQueueSetting
from ttc.dialects.netlist.buda.from_netlist import from_netlist
from ttc.dialects.netlist.buda.machine import machine
from ttc.dialects.netlist.buda.normal import differences, normalised
from ttc.dialects.netlist.buda.reader import read_netlist
from ttc.dialects.netlist.buda.to_netlist import to_netlist
from ttc.dialects.netlist.buda.writer import write_netlist
from ttc.dialects.netlist.chips import chip
from ttc.dialects.netlist.model import Blocking, Buffer, Graph, Grid, Host, Instruction, Netlist, Op, Program, Queue

ONE = "grid_size: [1, 1], t: 1, mblock: [2, 2], ublock: [1, 2]"
DATA = f"{ONE}, df: Float16_b, target_device: 0, loc: dram"
OP = f"{ONE}, acc_df: Float16_b, out_df: Float16_b, intermed_df: Float16_b, ublock_order: r, buf_size_mb: 2, math_fidelity: HiFi3"
DEVICES = "devices: {arch: [wormhole_b0, blackhole]}\n"
QUEUES = f"""queues:
  x: {{type: queue, input: HOST, entries: 2, {DATA}, dram: [[0, 0x10000000]]}}
  w: {{type: ram, input: HOST, entries: 1, {DATA}, dram: [[1, 0x10000000]]}}
  y: {{type: queue, input: op, entries: 2, {DATA}, dram: [[2, 0x10000000]]}}
"""
NOP = f"{{type: nop, grid_loc: [0, 0], inputs: [x], in_df: [Float16_b], {OP}}}"
GRAPH = f"graphs:\n  g:\n    target_device: 0\n    input_count: 1\n    op: {NOP}\n"
POINTERS = "rd_ptr_local: $l, rd_ptr_global: $l"
EXECUTE = f"execute: {{graph_name: g, queue_settings: {{x: {{{POINTERS}}}}}}}"
PROGRAM = f"programs:\n  - p:\n    - staticvar: {{$l: 0}}\n    - {EXECUTE}\n"
BINARY = f"{{type: add, grid_loc: [0, 0], inputs: [x, w], in_df: [Float16_b, Float16_b], {OP}}}"


def changed(*changes: tuple[str, str], rest: str = "") -> str:
    """The text of a small netlist with some parts replaced, and more sections."""
    found = DEVICES + QUEUES + GRAPH + PROGRAM + rest
    for old, new in changes:
        assert old in found
        found = found.replace(old, new)
    return found


def twice(text: str) -> tuple[BudaNetlist, BudaNetlist]:
    """The form of a text, and the one that comes back through the plain netlist, through the text of that too; both normal."""
    form = normalised(read_netlist(text.encode(), "a.yaml"))
    back = from_netlist(to_netlist(form))
    assert differences(back, normalised(read_netlist(write_netlist(back).encode(), "b.yaml"))) == []
    return form, back


FUSED = """fused_ops:
  5:
    inputs: 2
    intermediates: 1
    schedules:
      -
        - m: {type: multiply, inputs: [input0, input1], mblock: [2, 2], ublock: [1, 2], output: intermed0}
        - e: {type: exp, inputs: [intermed0], pop: [intermed0], mblock: [2, 2], ublock: [1, 2], output: output}
  unused:
    inputs: 1
    intermediates: 0
    schedules: [[{n: {type: nop, inputs: [input0], mblock: [1, 1], ublock: [1, 1], output: output}}]]
"""
TWIN = f"entries: 1, {DATA}, dram: [[1, 0x10000000]]"
TURNED = DATA.replace("mblock: [2, 2]", "mblock: [4, 1]")
ODD = "\"x, {y}: 'z' #\""
LOOPS = "    - loop: 2\n    - loop: $p\n"
PRESERVED: dict[str, str] = {
    "as it is": changed(),
    "queue: ports": changed(("dram: [[0, 0x10000000]]", "dram: [[0, 0x10000000]], read_ports: [1], write_ports: [2]")),
    "queue: order of blocks": changed(("input: HOST, entries: 1,", "input: HOST, ublock_order: c, entries: 1,")),
    "queue: in host memory": changed(("loc: dram, dram: [[2, 0x10000000]]", "loc: host, host: [[3, 0x40]]")),
    "queue: alias": changed(("graphs:\n", f"  v: {{type: ram, input: HOST, alias: w, {TWIN}}}\ngraphs:\n")),
    "queue: of another netlist": changed(("input: HOST, entries: 2", "input: net2net_a, entries: 2")),
    "queue: manipulations": changed(
        ("input: op, entries: 2,", "input: op, input_tms: [vslice: 2, hstack: 2], entries: 2,"),
        (f"entries: 2, {DATA}, dram: [[2", f"entries: 2, {DATA.replace('[2, 2]', '[1, 4]')}, dram: [[2"),
    ),
    "queue: an odd name": changed(("  x:", f"  {ODD}:"), ("inputs: [x]", f"inputs: [{ODD}]"), ("{x: {", f"{{{ODD}: {{")),
    "queue: a name like a number": changed(("  x:", "  '1e5':"), ("inputs: [x]", "inputs: ['1e5']"), ("{x: {", "{'1e5': {")),
    "op: place": changed(("grid_loc: [0, 0]", "grid_loc: [3, 4], grid_transpose: true")),
    "op: sizes of buffers": changed(("buf_size_mb: 2", "buf_size_mb: 7, overlay_size: 100, input_buf_min_size_tiles: [64]")),
    "op: buffers of dram": changed(("buf_size_mb: 2", "buf_size_mb: 2, input_dram_io_buf_size_tiles: [16], forked_dram_inputs: [{x: op}]")),
    "op: fidelity": changed(("HiFi3", "HiFi2_B")),
    "op: gradient": changed(("buf_size_mb: 2", "buf_size_mb: 2, gradient_op: true")),
    "op: order of blocks": changed(("ublock_order: r", "ublock_order: c")),
    "op: formats": changed(("in_df: [Float16_b]", "in_df: [Bfp8_b]")),
    "op: manipulations": changed((NOP, NOP[:-1] + ", input_0_tms: [hslice: 2, hstack: 2, vslice: 2, vstack: 2]}")),
    "op: transpose": changed((NOP, NOP[:-1] + ", input_0_tms: [transpose]}"),
                             ("mblock: [2, 2], ublock: [1, 2], acc_df", "mblock: [4, 1], ublock: [1, 2], acc_df"),
                             (f"entries: 2, {DATA}, dram: [[2", f"entries: 2, {TURNED}, dram: [[2")),
    "op: padding": changed(
        (NOP, NOP[:-1] + ", input_0_unpad: {rt: 1, ct: 0}, input_0_pad: {rt: 1, ct: 0, pad_value: -0.5}}"),
    ),
    "op: attributes": changed((NOP, NOP[:-1] + ", attributes: {approximate_mode: true, vector: r, stoch_rnd_mode: pack}}")),
    "op: relu": changed((NOP, NOP[:-1] + ", attributes: {relu_en: true, relu_mode: max, relu_threshold: 0.25}}")),
    "op: kept tiles": changed((NOP, BINARY[:-1] + ", attributes: {kernel_broadcast: {input_1: 8}}}")),
    "op: the same input twice": changed((NOP, BINARY.replace("[x, w]", "[x, x]"))),
    "graph: order of ops": changed(("    op: ", f"    first: {NOP.replace('[x]', '[op]').replace('[0, 0]', '[1, 1]')}\n    op: ")),
    "graph: on another device": changed(("target_device: 0\n", "target_device: 3\n")),
    "instances": changed(("target_device: 0", "target_device: [0, 4, 2]")),
    "program: loops and variables": changed(
        ("    - execute", f"    - param: [$p]\n    - var: [$a, $b]\n    - varinst: [$a, mul, $p, -3]\n{LOOPS}    - execute"),
        (EXECUTE, f"{EXECUTE}\n    - endloop\n    - endloop\n    - varinst: [$b, incwrap, $a, 7]"),
    ),
    "program: settings": changed(
        (POINTERS, "prologue: true, zero: $z, rd_ptr_local: 3, rd_ptr_global: $l, rd_ptr_autoinc: 0, global_rdptr_autoinc: 1")
    ),
    "program: rams": changed((NOP, BINARY), ("{x: {", "{w: {epilogue: true, read_only: true, rd_ptr_global: 0, wr_ptr_global: $l}, x: {")),
    "program: allocation": changed((EXECUTE, f"allocate_queue: [y]\n    - {EXECUTE}\n    - deallocate_queue: [y]")),
    "several programs, and none": changed(rest="  - q: []\n  - r:\n    - loop: 1\n    - endloop\n"),
    "fused ops": changed((NOP, BINARY.replace("type: add", "type: fused_op")[:-1] + ", attributes: {fused_op_id: 5}}"), rest=FUSED),
    "sections without a meaning": changed(rest="test-config:\n  a: {b: [1, 2.5, x, null, true]}\n  'c d': []\nother: text\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", PRESERVED)
def test_what_was_written_comes_back(case: str) -> None:
    form, back = twice(PRESERVED[case])
    assert differences(form, back) == []
    assert form == replace(back, sections=form.sections)


def test_instances_that_differ_stay_apart() -> None:
    netlist = to_netlist(read_netlist(PRESERVED["instances"].encode(), "a.yaml"))
    queues = {**netlist.queues, "x.4": replace(netlist.queues["x.4"], entries=9)}
    assert list(from_netlist(replace(netlist, queues=queues)).queues)[:3] == ["x.0", "x.4", "x.2"]
    assert list(from_netlist(netlist).queues) == ["x", "w", "y"]


def edited(text: str, **changes: Any) -> Netlist:
    """The plain netlist of a text whose op has other fields."""
    netlist = to_netlist(read_netlist(text.encode(), "a.yaml"))
    graph = netlist.graphs["g"]
    return replace(netlist, graphs={"g": replace(graph, ops=(replace(graph.ops[0], **changes),))})


def test_other_fields_of_the_plain_netlist_count() -> None:
    netlist = edited(changed(), place=Grid(5, 6, 1, 1), fidelity="LoFi", intermediate="Float32")
    op = from_netlist(netlist).graphs["g"].ops[0]
    assert (op.grid_loc, op.math_fidelity, op.intermed_df) == ((5, 6), "LoFi", "Float32")


SETTINGS: dict[str, tuple[Any, str]] = {
    "no field": ((("colour", 1),), "E0609"),
    "another type": ((("buf_size_mb", "many"),), "E0609"),
    "not of the work": ((("attributes", (("relu_en", True),)),), "E0609"),
    "manipulations that are none": ((("input_tms", ((0, 5),)),), "E0609"),
    "a pair of three": ((("grid_loc", (1, 2, 3)),), "E0609"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_are_checked(case: str) -> None:
    settings, code = SETTINGS[case]
    with pytest.raises(Error) as error:
        from_netlist(edited(changed(), settings=settings))
    assert error.value.code == code


# ---- what the compiler makes ------------------------------------------------------------------------------------------------------------

TILED = TensorType((64, 128), "Float16_b", "tiles(32, 32)")
BLOCKS = Blocking(1, (1, 1), (2, 4))
BYTES = 32 + 8 * 2080


def compiled() -> Netlist:
    """exp on the device, something on the host, relu of the sum with a parameter on the device; two microbatches a call."""

    def queue(name: str, kind: Any, slot: int, **fields: Any) -> Queue:
        given = {"type": "queue", "source": "HOST", "entries": 2, "buffer_bytes": BYTES + 8 * 2080, **fields}
        return Queue(
            name, kind, tensor=TILED, location="dram", chip=0, grid=(1, 1), blocking=BLOCKS, buffers=((slot, 0x10000000),), **given
        )

    def op(name: str, inputs: tuple[str, ...], *works: Work) -> Op:
        buffers = (*[Buffer(f"in{i}", 8, 2080, 2 - i) for i in range(len(inputs))], Buffer("out", 8, 2080, 2))
        work = Function((TILED,) * len(inputs), works, (len(inputs) + len(works) - 1,))
        return Op(name, "map", inputs, Grid(0, 0, 1, 1), BLOCKS, work, buffers)

    exp = op("exp", ("x",), Work("tile.map", (0,), {"fn": "exp"}, (TILED,)))
    again = op("again", ("e",), Work("tile.map", (0,), {"fn": "sqrt"}, (TILED,)))
    host = Op("host", "map", ("f",), Host(), None, Function((TILED,), (Work("tile.map", (0,), {"fn": "abs"}, (TILED,)),), (1,)))
    last = op("last", ("h", "w"), Work("tile.map", (0, 1), {"fn": "add"}, (TILED,)))
    queues = [
        queue("x", "input", 0), queue("e", "edge", 1, source="exp", lifetime=(0, 1)), queue("f", "output", 2, source="again"),
        queue("h", "edge", 3, source="host"), queue("w", "parameter", 4, type="ram", entries=1, buffer_bytes=BYTES, key="w"),
        queue("y", "output", 5, source="last"),
    ]  # fmt: skip
    graphs = [Graph("a", 0, 2, (exp,), (("exp", "e"),)), Graph("b", 0, 2, (again,), (("again", "f"),))]
    graphs += [Graph("c", 0, 2, (host,), (("host", "h"),)), Graph("d", 0, 2, (last,), (("last", "y"),))]
    steps = tuple(Instruction("execute", (graph.name,)) for graph in graphs)
    target = chip(machine("wormhole_b0", 1))
    return Netlist(target, {q.name: q for q in queues}, {g.name: g for g in graphs}, {"forward": Program("forward", (), (), steps)})


def test_a_compiled_netlist() -> None:
    found = from_netlist(compiled())
    assert differences(found, normalised(read_netlist(write_netlist(found).encode(), "b.yaml"))) == []
    assert found.archs == ("wormhole_b0",)
    assert {q.name: (q.input, q.type) for q in found.queues.values()} == {
        "x": ("HOST", "queue"), "e": ("exp", "queue"), "f": ("again", "queue"), "h": ("HOST", "queue"), "w": ("HOST", "ram"),
        "y": ("last", "queue"),
    }  # fmt: skip
    assert list(found.graphs) == ["a", "b", "d"]
    op = found.graphs["d"].ops[0]
    assert (op.type, op.inputs, op.in_df, op.out_df) == ("add", ("h", "w"), ("Float16_b", "Float16_b"), "Float16_b")
    assert (op.grid_loc, op.grid_size, op.mblock, op.ublock, op.buf_size_mb) == ((0, 0), (1, 1), (1, 1), (2, 4), 2)
    assert (op.intermed_df, op.acc_df, op.math_fidelity, op.untilize_output) == ("Float32", "Float32", "HiFi4", False)


def test_a_stash_moves_with_the_program_that_reads_it() -> None:
    """It is never allocated for a while; programs that both read one would have pointers of their own."""
    whole = compiled()
    stash = replace(whole.queues["e"], kind="stash", lifetime=None)
    runs = {name: Program(name, (), (), (Instruction("execute", (graph,)),)) for name, graph in (("forward", "a"), ("backward", "b"))}
    found = from_netlist(replace(whole, queues={**whole.queues, "e": stash}, programs=runs))
    opcodes = {name: [step.opcode for step in program.instructions] for name, program in found.programs.items()}
    assert not any("queue" in opcode for names in opcodes.values() for opcode in names)
    (execute,) = [step for step in found.programs["backward"].instructions if step.opcode == "execute"]
    assert execute.settings == (BudaQueueSetting("e", rd_ptr_local="$lptr_q0", rd_ptr_global="$gptr_q0"),)
    assert to_netlist(found).queues["e"].kind == "stash"
    runs["again"] = replace(runs["backward"], name="again")
    with pytest.raises(Error, match="programs 'backward' and 'again' both read it") as failure:
        from_netlist(replace(whole, queues={**whole.queues, "e": stash}, programs=runs))
    assert (failure.value.code, failure.value.where) == ("E0503", "queue 'e'")


def test_programs_of_a_compiled_netlist() -> None:
    """A program for each part between host graphs; inputs move their pointers, what lives between epochs is allocated there."""
    programs = from_netlist(compiled()).programs
    assert list(programs) == ["forward.0", "forward.1"]
    zero = BudaQueueSetting("e", rd_ptr_local="$c_zero", rd_ptr_global="$c_zero")
    moving = BudaQueueSetting("x", rd_ptr_local="$lptr_q0", rd_ptr_global="$gptr_q0")
    assert programs["forward.0"].instructions == (
        BudaInstruction("param", ("$p_loop_count",)),
        BudaInstruction("staticvar", (("$lptr_q0", 0), ("$gptr_q0", 0))),
        BudaInstruction("var", (("$c_zero", 0),)),
        BudaInstruction("loop", ("$p_loop_count",)),
        BudaInstruction("allocate_queue", ("e",)),
        BudaInstruction("execute", ("a",), (moving,)),
        BudaInstruction("execute", ("b",), (zero,)),
        BudaInstruction("deallocate_queue", ("e",)),
        BudaInstruction("varinst", ("$lptr_q0", "incwrap", 2, 4)),
        BudaInstruction("varinst", ("$gptr_q0", "incwrap", 2, 4)),
        BudaInstruction("endloop"),
    )
    (execute,) = [step for step in programs["forward.1"].instructions if step.opcode == "execute"]
    assert execute.settings == (
        BudaQueueSetting("h", rd_ptr_local="$lptr_q0", rd_ptr_global="$gptr_q0"),
        BudaQueueSetting("w", prologue="true", rd_ptr_global="$c_zero", wr_ptr_global="$c_zero"),
    )


def test_pointers_move_in_the_loop_that_reads() -> None:
    """Rounds of a loop read one part of a queue after another."""
    netlist = compiled()
    steps = (Instruction("loop", (2,)), Instruction("execute", ("a",)), Instruction("execute", ("b",)), Instruction("endloop"))
    (program,) = from_netlist(replace(netlist, programs={"forward": Program("forward", (), (), steps)})).programs.values()
    shown = [(step.opcode, step.args[0]) if step.args else step.opcode for step in program.instructions]
    assert shown[3:] == [
        ("loop", "$p_loop_count"),
        ("loop", 2),
        ("allocate_queue", "e"),
        ("execute", "a"),
        ("execute", "b"),
        ("deallocate_queue", "e"),
        ("varinst", "$lptr_q0"),
        ("varinst", "$gptr_q0"),
        "endloop",
        "endloop",
    ]


def test_a_loop_around_the_host_has_no_program() -> None:
    netlist = compiled()
    steps = (Instruction("loop", (2,)), *netlist.programs["forward"].instructions, Instruction("endloop"))
    with pytest.raises(Error) as error:
        from_netlist(replace(netlist, programs={"forward": Program("forward", (), (), steps)}))
    assert (error.value.code, error.value.where) == ("E0503", "program 'forward'")


def test_an_op_that_buda_lacks_is_named() -> None:
    netlist = compiled()
    graph = netlist.graphs["a"]
    odd = replace(graph.ops[0], work=Function((TILED,), (Work("tile.map", (0,), {"fn": "erf"}, (TILED,)),), (1,)))
    with pytest.raises(Error) as error:
        from_netlist(replace(netlist, graphs={**netlist.graphs, "a": replace(graph, ops=(odd,))}))
    assert (error.value.code, error.value.where) == ("E0503", "exp")

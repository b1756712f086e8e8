"""Netlists into the form, and everything that is wrong with their form."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from ttc.dialects.core.errors import CODES, Error
from ttc.dialects.netlist.buda.form import BudaNetlist, BudaOp, BudaQueue, Tm
from ttc.dialects.netlist.buda.reader import read_form, read_netlist
from ttc.dialects.netlist.buda.rules.check import check_form

NETLISTS = Path(__file__).resolve().parents[3] / "data" / "netlists"
BASE = (NETLISTS / "small" / "base.yaml").read_text()


def test_the_form_of_a_netlist() -> None:
    netlist = read_netlist(NETLISTS / "small" / "base.yaml")
    assert netlist.archs == ("wormhole_b0",)
    assert netlist.sections == ("devices", "queues", "graphs", "programs")
    assert netlist.queues["x"] == BudaQueue(
        "x",
        input="HOST",
        entries=4,
        grid_size=(1, 1),
        t=1,
        mblock=(2, 2),
        ublock=(1, 2),
        ublock_order="r",
        df="Float16_b",
        target_devices=(0,),
        loc="dram",
        addresses=((0, 0x20000000),),
        type="queue",
    )
    product, act = netlist.graphs["first"].ops
    assert product == BudaOp(
        "product",
        type="matmul",
        grid_loc=(0, 0),
        grid_size=(1, 1),
        inputs=("x", "w", "bias"),
        in_df=("Float16_b", "Bfp8_b", "Float16_b"),
        out_df="Float16_b",
        intermed_df="Float16_b",
        acc_df="Float16_b",
        math_fidelity="HiFi3",
        t=1,
        mblock=(2, 1),
        ublock=(1, 4),
        ublock_order="r",
        buf_size_mb=2,
        input_buf_min_size_tiles=(0, 0, 0),
        untilize_output=False,
        gradient_op=False,
        input_tms={2: (Tm("broadcast", ("r", 2)),)},
        attributes={"m_k": 2, "u_kt": 2, "bias": True, "kernel_broadcast": (("input_2", 4),)},
    )
    assert act.lines[""] == act.lines["grid_loc"] == 46
    assert (product.lines[""], product.lines["type"], product.lines["attributes"]) == (26, 27, 44)
    steps = netlist.programs["run"].instructions
    assert [step.opcode for step in steps] == ["param", "var", "staticvar", "loop", "execute", "execute", *["varinst"] * 3, "endloop"]
    assert steps[1].args == (("$c_zero", 0), ("$c_count", 2))
    assert steps[2].args == (("$lptr", 0), ("$gptr", 0), ("$eptr", 0))
    assert steps[6].args == ("$lptr", "incwrap", "$c_count", 8)
    assert [setting.queue for setting in steps[4].settings] == ["x", "w", "bias"]
    assert (steps[4].settings[0].prologue, steps[4].settings[0].rd_ptr_local, steps[4].settings[0].wr_ptr_global) == (
        "false",
        "$lptr",
        None,
    )


def test_the_form_of_fused_ops() -> None:
    fused = read_netlist(NETLISTS / "small" / "fused.yaml").fused_ops["0"]
    assert (fused.inputs, fused.intermediates) == (3, 3)
    assert [[sub.name for sub in schedule] for schedule in fused.schedules] == [["add.a", "mean"], ["add.b", "sub", "root", "twice"]]
    sub = fused.schedules[1][1]
    assert (sub.inputs, sub.output, sub.pop, sub.pop_last) == (("dest", "intermed1"), "dest", (), ("intermed1",))
    assert sub.input_tms == {1: (Tm("broadcast", ("c", 4)), Tm("tile_broadcast", ("c",)))}


def test_sections_that_the_format_does_not_define_are_kept() -> None:
    netlist = read_netlist((BASE + "test-config:\n  atol: 0.01\n  names: [a, 2]\n").encode())
    assert netlist.extra == {"test-config": (("atol", 0.01), ("names", ("a", 2)))}
    assert netlist.sections[-1] == "test-config"


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        ("arch: wormhole_b0", "arch: [WORMHOLE_B0, x]", []),
        ("  cache:\n    input: HOST\n", "  cache:\n    inptu: HOST\n", [("E0613", "n:10: queue 'cache'", "there is no field 'inptu'")]),
        (
            "    t: 1\n    mblock: [2, 1]\n    ublock: [1, 4]\n    df",
            "    t: 0\n    mblock: [2, 1]\n    ublock: [1, 4]\n    df",
            [("E0615", "n:14: queue 'cache'", "t is at least 1, not 0")],
        ),
        (
            "    df: Float16_b\n    target",
            "    df: Float17\n    target",
            [("E0615", "n:17: queue 'cache'", "df cannot be 'Float17'; did you mean 'Float16'?")],
        ),
        (
            "      type: matmul\n",
            "      type: matmull\n",
            [("E0615", "n:27: op 'product'", "type cannot be 'matmull'; did you mean 'matmul'?")],
        ),
        ("      inputs: [x, w, bias]\n", "      inputs:\n", [("E0614", "n:30: op 'product'", "inputs takes a list, not nothing")]),
        (
            "      input_2_tms: [broadcast: {r: 2}]\n",
            "      input_2_tms: [brodcast: {r: 2}]\n",
            [("E0623", "n:45: op 'product'", "input_2_tms there is no tile manipulation 'brodcast'; did you mean 'broadcast'?")],
        ),
        ("      input_2_tms:", "      input_2_tm:", [("E0613", "n:45: op 'product'", "there is no field 'input_2_tm'")]),
        (
            "      t: 1\n      mblock",
            "      t: 1\n      in_df: [Float16_b]\n      mblock",
            [("E0613", "n:37", "'in_df' is written twice: first in line 31")],
        ),
        ("  first:\n", "  second:\n", [("E0601", "n:47", "'second' is written twice: first in line 23")]),
        (
            "    input_count: 2\n    product",
            "    input_cuont: 2\n    product",
            [("E0613", "n:25: graph 'first'", "there is no field 'input_cuont'")],
        ),
        ("  cache:\n", "  other: 3\n  cache:\n", [("E0612", "n:9: queue 'other'", "a queue is a map of fields, not '3'")]),
        ("      - endloop", "      - endlop", [("E0608", "n:70: program 'run'", "there is no instruction 'endlop'")]),
        (
            "      - endloop",
            "      - endprogram",
            [("E0608", "n:70: program 'run'", "endprogram is appended to every program and cannot be written")],
        ),
        ("      - endloop", "      - {loop: 1, endloop: }", [("E0608", "n:70: program 'run'", "there is no instruction a map")]),
        (
            "[$eptr, incwrap, $c_count, 8]",
            "[$eptr, incwrap, $c_count]",
            [("E0608", "n:69: program 'run'", "varinst incwrap takes 2 values, not 1")],
        ),
        (
            "[$eptr, incwrap, $c_count, 8]",
            "[$eptr, sub, 8]",
            [("E0608", "n:69: program 'run'", "varinst has no operation 'sub': known are set, add, mul, inc, incwrap")],
        ),
        ("[$eptr, incwrap, $c_count, 8]", "[eptr, inc, 8]", [("E0608", "n:69: program 'run'", "varinst takes $variables, not 'eptr'")]),
        ("graph_name: first", "graph_nmae: first", [("E0613", "n:60: program 'run': execute", "there is no field 'graph_nmae'")]),
        (
            "{graph_name: first, queue_settings: {",
            "{queue_settings: {",
            [("E0608", "n:60: program 'run'", "execute does not say which graph: graph_name is missing")],
        ),
        (
            "mid: {prologue: false",
            "mid: {prologu: false",
            [("E0613", "n:65: program 'run': settings of queue 'mid'", "there is no field 'prologu'")],
        ),
        (
            "mid: {prologue: false",
            "mid: {prologue: [1]",
            [("E0615", "n:65: program 'run': settings of queue 'mid'", "prologue takes true, false, an integer or a $variable, not ['1']")],
        ),
    ],
)
def test_faults_of_form(old: str, new: str, faults: list[tuple[str, str, str]]) -> None:
    assert BASE.count(old) == 1
    _, found = read_form(BASE.replace(old, new).encode(), "n")
    assert [(v.code, v.where, v.message) for v in found] == faults


def test_faults_of_fused_ops() -> None:
    text = (NETLISTS / "small" / "fused.yaml").read_text()
    for old, new, message in (
        ("pop_last: [intermed1]", "pop_lsat: [intermed1]", "there is no field 'pop_lsat'"),
        (
            "        - root: {type: sqrt, inputs: [dest], mblock: [2, 2], ublock: [1, 2], output: intermed2}",
            "        - root: 3",
            "a sub-op is a map of fields, not '3'",
        ),
        ("    schedules:\n", "    schedules: 3\n    schedule:\n", "schedules takes a list of lists of sub-ops, not '3'"),
        ("input_1_tms: [broad", "input_1_pad: [broad", "there is no field 'input_1_pad'"),
    ):
        _, found = read_form(text.replace(old, new).encode(), "n")
        assert message in [v.message for v in found]


def test_every_fault_is_found_and_the_first_is_raised() -> None:
    text = BASE.replace("type: gelu", "type: gleu").replace("HiFi3\n", "HiFi9\n").replace("      - endloop", "      - endlop")
    _, found = read_form(text.encode(), "n")
    assert [v.code for v in found] == ["E0615", "E0615", "E0608"]
    with pytest.raises(Error, match=r"E0615.*n:35: op 'product': math_fidelity cannot be 'HiFi9'.*and 2 more faults"):
        read_netlist(text.encode(), "n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "a",
        "{}",
        "devices:",
        "queues: {x: }",
        "graphs: {g: {}}",
        "programs: [3]",
        "fused_ops: {0: {schedules: [3, [4], [{a: }]]}}",
    ],
)
def test_what_is_hardly_a_netlist(text: str) -> None:
    form, found = read_form(text.encode(), "n")
    assert isinstance(form, BudaNetlist)
    assert [*found, *check_form(form, None, found)]


def test_cut_and_damaged_files_give_errors_or_violations_only() -> None:
    """Cut anywhere, with a byte changed anywhere, with lines swapped: never another exception, and never long."""
    data = BASE.encode()
    chance = random.Random(5)
    samples = [data[: len(data) * k // 64] for k in range(64)]
    for _ in range(250):
        at = chance.randrange(len(data))
        samples.append(data[:at] + bytes([chance.choice(b"[]{}:,-'\"&*!|>%@`#\x00\xff09aZ$\n\t ")]) + data[at + 1 :])
    lines = data.split(b"\n")
    for _ in range(60):
        swapped = list(lines)
        i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
        swapped[i], swapped[j] = swapped[j], swapped[i]
        samples.append(b"\n".join(swapped))
    codes, start = set[str](), time.process_time()
    for sample in samples:
        try:
            form, found = read_form(sample, "n")
            check_form(form, None, found)
        except Error as error:
            codes.add(error.code)
    assert codes == {"E0611"}
    assert time.process_time() - start < 30


def test_every_field_of_the_wrong_kind() -> None:
    """A scalar, a list, a map and nothing in place of each field of an op, a queue and a program."""
    for wrong in ("x", "[]", "[[]]", "{}", "~", "-1", "99999999999999999999", "[1, 2, 3]", "{a: {b: []}}"):
        for line in BASE.split("\n"):
            key, colon, _ = line.partition(": ")
            if colon and not key.strip().startswith("-"):
                try:
                    form, found = read_form(BASE.replace(line, f"{key}: {wrong}", 1).encode(), "n")
                except Error:  # the line was the first of several
                    continue
                assert {v.code for v in [*found, *check_form(form, None, found)]} <= set(CODES)


def test_large_numbers_cost_no_time() -> None:
    blocks = "grid_size: [2147483647, 2147483647], t: 2147483647, mblock: [2147483647, 2147483647], ublock: [2147483647, 2147483647]"
    tms = ", ".join(["broadcast: {z: 2147483647}"] * 3000)
    text = BASE.replace("grid_size: [1, 1], t: 1, mblock: [2, 2], ublock: [1, 2]", blocks).replace("[broadcast: {r: 2}]", f"[{tms}]")
    start = time.process_time()
    form, found = read_form(text.encode(), "n")
    assert {"E0603", "E0617", "E0623"} & {v.code for v in check_form(form, None, found)}
    assert time.process_time() - start < 5


QUEUE = (
    "{input: HOST, type: queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [1, 1], df: Float16, target_device: 0, "
    "loc: dram, dram: [[0, 0]]}"
)
OP = (
    "{type: nop, grid_loc: [0, 0], grid_size: [1, 1], inputs: [q0], in_df: [Float16], out_df: Float16, intermed_df: Float16, "
    "math_fidelity: LoFi, t: 1}"
)


@pytest.mark.parametrize(
    "text",
    [
        "queues: {a: &q "
        + QUEUE
        + ", b: "
        + QUEUE.replace("[0, 0]]", "[0, 64]]")
        + ", "
        + ", ".join(f"q{i}: *q" for i in range(4000))
        + "}\ngraphs: {}\nprograms: []\n",
        "queues: {}\ngraphs: {a: {o: &o " + OP + "}, g: {" + ", ".join(f"q{i}: *o" for i in range(4000)) + "}}\nprograms: []\n",
        "queues: {}\ngraphs: {}\nprograms: [p: [" + ", ".join(f"execute: {{graph_name: g{i}}}" for i in range(8000)) + "]]\n",
        "queues: {}\ngraphs: {}\nprograms: [" + ", ".join(f"p{i}: [loop: $x{i}]" for i in range(8000)) + "]\n",
        "queues: {}\ngraphs: {}\nprograms: []\nfused_ops: {0: {schedules: [["
        + ", ".join(f"s{i}: {{output: intermed{i}}}" for i in range(8000))
        + "]]}}\n",
        "queues: {}\ngraphs: {}\nprograms: []\nfused_ops: {" + ", ".join(f"{'x' * 1000}{i}: " for i in range(3000)) + "}\n",
    ],
    ids=["queues", "ops", "executes", "programs", "sub-ops", "names"],
)
def test_many_faults_cost_little(text: str) -> None:
    start = time.process_time()
    form, found = read_form(("devices: {arch: [grayskull, blackhole]}\n" + text).encode(), "n")
    assert len([*found, *check_form(form, None, found)]) >= 1000
    assert time.process_time() - start < 8

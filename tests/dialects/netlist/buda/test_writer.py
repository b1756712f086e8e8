"""The text of a netlist: its style, quoting of any name, the order that readers need."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.form import BudaGraph, BudaInstruction, BudaNetlist, BudaOp, BudaProgram, BudaQueue, BudaQueueSetting, Tm
from ttc.dialects.netlist.buda.reader import read_form
from ttc.dialects.netlist.buda.scalars import scalar
from ttc.dialects.netlist.buda.writer import write_netlist

QUEUE = BudaQueue(
    "x", "HOST", (), 4, (1, 1), 1, (2, 2), (1, 2), "c", (16, 32), "Bfp8_b", (0,), "dram", ((1, 0x1000),), None, None, "ram", "flat"
)
OP = BudaOp(
    "op", "matmul", (1, 2), (1, 1), True, ("x", "x"), ("Bfp8_b", "Bfp8_b"), "Bfp8_b", "Float16", "Float32", "LoFi", 1, (2, 2), (1, 2), "r",
    buf_size_mb=2, untilize_output=False, input_tms={1: (Tm("transpose"), Tm("broadcast", ("r", 2)), Tm("hslice", (4,)))},
    pads={0: (1, 2, 0.0)}, unpads={0: (0, 1)}, attributes={"z": 2, "relu_mode": "min", "relu_en": True, "accumulate": True, "m_k": 1},
)  # fmt: skip
PROGRAM = BudaProgram(
    "p",
    (
        BudaInstruction("var", (("$a", 1),)),
        BudaInstruction("loop", ("$a",)),
        BudaInstruction("execute", ("g",), (BudaQueueSetting("x", rd_ptr_global="$a", wr_ptr_global="0"),)),
        BudaInstruction("endloop"),
    ),
)
NETLIST = BudaNetlist(
    ("grayskull",), {"x": QUEUE}, {"g": BudaGraph("g", (1, 2), 3, (OP,))}, {"p": PROGRAM}, extra={"note": (("a", (1, 2)),)}
)
TEXT = """\
devices:
  arch: grayskull

queues:
  # rams
  x: {type: ram, input: HOST, entries: 4, grid_size: [1, 1], t: 1, mblock: [2, 2], ublock: [1, 2], ublock_order: c, tile_dim: [16, 32], \
layout: flat, df: Bfp8_b, target_device: 0, loc: dram, dram: [[1, 0x1000]]}

graphs:
  g:
    target_device: [1, 2]
    input_count: 3
    op: {type: matmul, grid_loc: [1, 2], grid_size: [1, 1], grid_transpose: true, inputs: [x, x], in_df: [Bfp8_b, Bfp8_b], \
acc_df: Float32, out_df: Bfp8_b, intermed_df: Float16, ublock_order: r, buf_size_mb: 2, math_fidelity: LoFi, untilize_output: false, \
t: 1, mblock: [2, 2], ublock: [1, 2], input_0_unpad: {rt: 0, ct: 1}, input_1_tms: [transpose, {broadcast: {r: 2}}, {hslice: 4}], \
input_0_pad: {rt: 1, ct: 2, pad_value: 0.0}, attributes: {accumulate: true, relu_en: true, m_k: 1, z: 2, relu_mode: min}}

programs:
  - p:
      - var: {$a: 1}
      - loop: $a
      -   execute: {graph_name: g, queue_settings: {
          x: {prologue: false, epilogue: false, zero: false, rd_ptr_global: $a, wr_ptr_global: 0}}}
      - endloop

note:
  a: [1, 2]
"""


def test_text() -> None:
    assert write_netlist(NETLIST) == TEXT


def test_sections_without_members_are_left_out() -> None:
    assert write_netlist(BudaNetlist(("grayskull", "blackhole"))) == "devices:\n  arch: [grayskull, blackhole]\n"


ODD = [
    "true",
    "No",
    "1",
    "0x10",
    "1e5",
    "a b",
    "a: b",
    "#x",
    "- x",
    "{x}",
    "é",
    "\U0001f600",
    "a\tb",
    "\x85",
    "",
    "null",
    "~",
    "$x",
    "'\"\\",
    "*a",
]


@pytest.mark.parametrize("name", ODD)
def test_any_name_is_read_back(name: str) -> None:
    assert yaml.safe_load(f"{{{scalar(name)}: 1, a: [{scalar(name)}]}}") == {name: 1, "a": [name]}


@settings(max_examples=100)
@given(st.text(min_size=1, max_size=20).filter(lambda t: "\ud800" > max(t) or min(t) > "\udfff"))
def test_random_names_are_read_back(name: str) -> None:
    form, faults = read_form(write_netlist(BudaNetlist(queues={name: BudaQueue(name, entries=1)})).encode(), "x")
    assert list(form.queues) == [name], faults


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (1e-7, "1.0e-07"),
        (1e22, "1.0e+22"),
        (math.inf, ".inf"),
        (-math.inf, "-.inf"),
        (True, "true"),
        (None, "null"),
        (-3, "-3"),
    ],
)
def test_numbers_keep_their_kind(value: Plain, text: str) -> None:
    assert scalar(value) == text
    assert repr(yaml.safe_load(text)) == repr(value)

"""Streams of a core: ops that read or fill many queues."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttc.dialects.netlist.violations import Violation

WHOLE = "mblock: [2, 2], ublock: [1, 2]"
SETTINGS = "prologue: false, epilogue: false, zero: false, rd_ptr_local: $l, rd_ptr_global: $g"
FIRST = "        - add.a: {type: add, inputs: [input0, input1], "


def reading(count: int) -> list[tuple[str, str]]:
    """Changes of netlist `fused` after which its op adds up so many queues more than its three."""
    names = [f"a{i}" for i in range(count)]
    queues = [
        f"  {name}: {{input: HOST, type: queue, entries: 2, grid_size: [1, 1], t: 1, {WHOLE}, df: Float16_b, target_device: 0, loc: dram, "
        f"dram: [[{4 + i % 2}, {0x20000000 + 0x1000000 * i:#x}]]}}\n"
        for i, name in enumerate(names)
    ]
    sums = [f"        - s1: {{type: add, inputs: [input3, input4], {WHOLE}, output: dest}}\n"]
    sums += [f"        - s{i}: {{type: add, inputs: [dest, input{i + 3}], {WHOLE}, output: dest}}\n" for i in range(2, count)]
    return [
        ("graphs:\n", "".join(queues) + "graphs:\n"),
        ("inputs: [x, z, one]", f"inputs: [x, z, one, {', '.join(names)}]"),
        ("in_df: [Float16_b, Float16_b, Float16_b]", f"in_df: [{', '.join(['Float16_b'] * (3 + count))}]"),
        ("    inputs: 3\n", f"    inputs: {3 + count}\n"),
        (FIRST, "".join(sums) + FIRST.replace("input0, input1", "dest, input1")),
        ("          x: {prologue", "".join(f"          {name}: {{{SETTINGS}}},\n" for name in names) + "          x: {prologue"),
    ]


def filling(count: int) -> tuple[str, str]:
    """A change of netlist `base` after which op `act` fills so many queues more than one."""
    lines = [
        f"  m{i}: {{input: act, type: queue, entries: 4, grid_size: [1, 2], t: 1, mblock: [2, 1], ublock: [1, 2], ublock_order: r, "
        f"df: Float16_b, target_device: 0, loc: dram, dram: [[3, {0x30000000 + 0x100000 * i:#x}], [4, {0x30000000 + 0x100000 * i:#x}]]}}\n"
        for i in range(count)
    ]
    return "graphs:\n  first:", "".join(lines) + "graphs:\n  first:"


@pytest.mark.parametrize(("more", "message"), [(5, None), (6, "it reads 9 queues, but a core has 8 streams that read from memory")])
def test_queues_that_an_op_reads(broken: Callable[..., list[Violation]], more: int, message: str | None) -> None:
    found = broken("fused", *reading(more))
    assert [(v.code, v.message) for v in found] == ([] if message is None else [("E0636", message)])


@pytest.mark.parametrize(("more", "message"), [(7, None), (8, "it fills 9 queues, but a core has 8 streams that write to memory")])
def test_queues_that_an_op_fills(broken: Callable[..., list[Violation]], more: int, message: str | None) -> None:
    found = broken("base", filling(more))
    assert [(v.code, v.message) for v in found] == ([] if message is None else [("E0636", message)])

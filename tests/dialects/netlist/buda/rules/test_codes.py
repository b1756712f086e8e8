"""For each code one change of a small netlist that breaks it, and it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.dialects.netlist.buda.rules.test_streams import filling
from ttc.dialects.core.errors import CODES

ONE_EACH: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "E0601": ("base", (("inputs: [sum]", "inputs: [smu]"),)),
    "E0603": ("base", (("grid_loc: [0, 1]", "grid_loc: [0, 0]"),)),
    "E0604": ("base", (("      buf_size_mb: 2\n", "      buf_size_mb: 9999\n"),)),
    "E0605": ("base", (("[[2, 0x20000000]]", "[[1, 0x20000000]]"),)),
    "E0606": ("base", (("  y:    {input: out,", "  y:    {input: HOST,"),)),
    "E0607": ("base", (("      intermed_df: Float16_b\n", "      intermed_df: Bfp4_b\n"),)),
    "E0608": ("base", (("- endloop", "- endlop"),)),
    "E0612": ("base", (("programs:\n", "program:\n"),)),
    "E0613": ("base", (("  cache:\n    input", "  cache:\n    inptu"),)),
    "E0614": ("base", (("      math_fidelity: HiFi3\n", ""),)),
    "E0615": ("base", (("      math_fidelity: HiFi3\n", "      math_fidelity: HiFi5\n"),)),
    "E0616": ("base", (("in_df: [Float16_b, Bfp8_b, Float16_b]", "in_df: [Float16_b, Bfp8_b]"),)),
    "E0617": ("base", (("[[3, 0x20000000], [4, 0x20000000]]", "[[3, 0x20000000]]"),)),
    "E0618": ("chips", (("read_ports: [1]", "read_ports: [9]"),)),
    "E0619": ("chips", (("alias: big, entries: 2", "alias: big, entries: 1"),)),
    "E0620": ("base", (("  x:    {input: HOST, type: queue, entries: 4", "  x:    {input: HOST, type: queue, entries: 1"),)),
    "E0621": (
        "base",
        (("queue, entries: 4, grid_size: [1, 1], t: 1, mblock: [2, 1]", "queue, entries: 4, grid_size: [1, 1], t: 1, mblock: [3, 1]"),),
    ),
    "E0622": ("base", (("m_k: 2, u_kt: 2, bias", "m_k: 2, u_kt: 3, bias"),)),
    "E0623": ("base", (("[hstack: 2, transpose]", "[hstack: 3, transpose]"),)),
    "E0624": (
        "base",
        (
            ("      mblock: [2, 1]\n      ublock: [1, 4]\n", "      mblock: [1, 1]\n      ublock: [2, 4]\n"),
            ("      acc_df: Float16_b\n", "      acc_df: Float32\n"),
        ),
    ),
    "E0625": ("base", (("in_df: [Float16_b, Bfp8_b, Float16_b]", "in_df: [Float16_b, Bfp4_b, Float16_b]"),)),
    "E0626": ("numbers", (("min_buffer_input: 0", "l1_acc: true"),)),
    "E0627": ("base", (("approximate_mode: true", "aproximate_mode: true"),)),
    "E0628": ("base", (("m_k: 2, u_kt: 2, bias", "u_kt: 2, bias"),)),
    "E0629": ("base", (("bias: true, kernel", "bias: false, kernel"),)),
    "E0630": ("base", (("kernel_broadcast: {input_2: 4}", "kernel_broadcast: {input_1: 4}"),)),
    "E0631": ("ops", ((", input1: [0, 1, 1]", ""),)),
    "E0632": ("base", (("sum: {type: add,", "sum: {type: add, untilize_output: true,"),)),
    "E0633": ("grayskull", (("sum: {type: multiply, grid", "sum: {type: add, grid"),)),
    "E0634": ("base", (("    df: Float16_b\n", "    df: Float16_b\n    tile_dim: [16, 32]\n"),)),
    "E0635": ("ops", (("attributes: {m_k: 2, u_kt: 1}", "attributes: {m_k: 1, u_kt: 2}"),)),
    "E0636": ("base", (filling(8),)),
    "E0640": ("fused", (("    inputs: 3\n", "    inputs: 4\n"),)),
    "E0641": ("fused", (("inputs: [dest], mblock", "inputs: [input0], mblock"),)),
    "E0642": ("fused", (("      -\n        - add.b", "        - add.b"),)),
    "E0643": ("fused", (("broadcast: {c: 4}", "broadcast: {r: 2}"),)),
    "E0644": ("fused", (("pop_last: [intermed1], ", ""),)),
    "E0645": ("fused", (("attributes: {m_k: 2, u_kt: 2}", "attributes: {m_k: 4, u_kt: 1}"),)),
    "E0651": ("base", (("[$lptr, $gptr, $eptr]", "[$lptr, $gptr]"),)),
    "E0652": ("base", (("      - endloop", ""),)),
    "E0653": ("base", (("rd_ptr_local: $lptr, rd_ptr_global: $gptr", "rd_ptr_global: $gptr"),)),
    "E0654": ("chips", (("    target_device: 1\n    input_count: 1\n", "    target_device: 1\n    input_count: 2\n"),)),
    "E0655": (
        "base",
        (("      - param: [$p_loops]\n", ""), ("      - loop: $p_loops\n", "      - param: [$p_loops]\n      - loop: $p_loops\n")),
    ),
    "E0656": (
        "chips",
        (("      - deallocate_queue: [later]\n", "      - deallocate_queue: [later]\n      - deallocate_queue: [later]\n"),),
    ),
}
ONE_FAULT: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("E0605", "base", (("[[1, 0x20000000]]", "[[1, 0x1000]]"),)),
    (
        "E0605",
        "grayskull",
        (("target_device: 0, loc: dram, dram: [[1, 0x20000000]]", "target_device: 1, loc: dram, dram: [[0, 0x20000000]]"),),
    ),
    (
        "E0601",
        "chips",
        (("target_device: [0, 1]\n    input_count: 1\n    each", "target_device: [0, 1, 2]\n    input_count: 1\n    each"),),
    ),
    ("E0601", "chips", (("target_device: [0, 1], loc: host", "target_device: 0, loc: host"),)),
    (
        "E0615",
        "chips",
        (("target_device: [0, 1]\n    input_count: 1\n    each", "target_device: [0, 1, 1]\n    input_count: 1\n    each"),),
    ),
    ("E0606", "base", (("inputs: [mid, cache]", "inputs: [mid, back]"),)),
    (
        "E0607",
        "grayskull",
        (
            ("curve: {type: exp, grid_loc: [0, 1]", "curve: {type: ethernet_datacopy, grid_loc: [0, 1]"),
            ("sfpu_execution_thread: math", "dest_device: 0"),
        ),
    ),
    ("E0612", "base", (("queues:\n  x: ", "queues: []\nold:\n  x: "),)),
    ("E0612", "base", (("programs:\n  - run:", "programs:\n  - none: []\n    run:"),)),
    ("E0616", "base", (("inputs: [x, w, bias]", "inputs: []"), ("in_df: [Float16_b, Bfp8_b, Float16_b]", "in_df: []"))),
    ("E0616", "base", (("inputs: [mid, cache], in_df: [Float16_b, Float16_b]", "inputs: [mid], in_df: [Float16_b]"),)),
    ("E0614", "chips", (("wire: {type: ethernet_datacopy, grid_size: [1, 1], ", "wire: {type: ethernet_datacopy, "),)),
    (
        "E0607",
        "grayskull",
        (
            ("df: Float16_b, target_device: 0, loc: dram, dram: [[3, 0", "df: Int8, target_device: 0, loc: dram, dram: [[3, 0"),
            ("[x], in_df: [Float16_b], acc_df: Float16_b, out_df: Float16_b", "[x], in_df: [Float16_b], acc_df: Float16_b, out_df: Int8"),
        ),
    ),
    ("E0614", "ops", (("inputs: [wide, order], in_df: [Float16_b, UInt16]", "in_df: []"),)),
    ("E0615", "base", (("[$eptr, incwrap, $c_count, 8]", "[$eptr, incwrap, $c_count, $c_zero]"),)),
    ("E0616", "ops", (("inputs: [wide, order], in_df: [Float16_b, UInt16]", "inputs: [], in_df: []"),)),
    (
        "E0614",
        "chips",
        (("loc: dram, dram: [[3, 0x20000000]]}\n  view", "dram: [[3, 0x20000000]]}\n  view"),),
    ),
    ("E0614", "ops", (("inputs: [deep, taps], ", ""),)),
    ("E0617", "base", (("dram: [[1, 0x20000000]]", "dram: []"),)),
    ("E0617", "base", (("dram: [[1, 0x20000000]]", "dram: [[1, 0x20000000], [1, 0x20000000]]"),)),
    ("E0622", "ops", (("attributes: {k: 32, sort", "attributes: {k: 33, sort"),)),
    ("E0623", "base", (("kernel_broadcast: {input_2: 4}}", "approximate_mode: true}\n      input_0_tms: [transpose, hslice: 2]"),)),
    ("E0627", "base", (("buf_size_mb: 2}\n    turn", "buf_size_mb: 2, attributes: {sfpu_execution_thread: math}}\n    turn"),)),
    ("E0627", "fused", (("inputs: [dest], mblock", "inputs: [dest], attributes: {slope: 1.0}, mblock"),)),
    ("E0628", "fused", (("inputs: [dest], mblock", "inputs: [dest], attributes: {vector: x}, mblock"),)),
    ("E0628", "chips", (("dest_device: 1", "dest_device: 2"),)),
    ("E0628", "chips", (("dest_device: 1, ", ""),)),
    ("E0628", "ops", (("num_sparse_tiles: 6, ", ""),)),
    ("E0628", "ops", (("num_index_tiles: 1, ", ""),)),
    ("E0628", "base", (("m_k: 2, u_kt: 2, bias", "m_k: -2, u_kt: 2, bias"),)),
    ("E0629", "base", (("m_k: 2, u_kt: 2, bias", "m_k: 0, u_kt: 2, bias"),)),
    ("E0629", "ops", (("attributes: {identity: true, m_k", "attributes: {identity: true, accumulate: true, m_k"),)),
    ("E0629", "base", (("bias: true, kernel", "bias: true, requant: true, kernel"),)),
    ("E0630", "base", (("      input_2_tms: [broadcast: {r: 2}]\n", ""),)),
    ("E0633", "grayskull", (("curve: {type: exp, grid_loc: [0, 1]", "curve: {type: exp, gradient_op: true, grid_loc: [0, 1]"),)),
    ("E0633", "ops", (("attributes: {identity: true, m_k", "gradient_op: true, attributes: {identity: true, m_k"),)),
    ("E0635", "ops", (("attributes: {m_k: 2, u_kt: 1}", "attributes: {m_k: 2, u_kt: 2}"),)),
    ("E0640", "fused", (("inputs: [dest], mblock", "inputs: [dest, dest], mblock"),)),
    ("E0640", "fused", (("inputs: [intermed2, intermed2], pop", "inputs: [], pop"),)),
    (
        "E0653",
        "chips",
        (("big: {prologue: false, epilogue: false", "big: {prologue: true, epilogue: true"),),
    ),
    ("E0642", "fused", (("ublock: [1, 1], output: intermed1}", "ublock: [1, 1], output: dest}"),)),
)
"""(code, netlist, changes) of single faults that other rules would see the consequences of."""


@pytest.mark.parametrize(("code", "name", "changes"), ONE_FAULT)
def test_what_follows_from_a_fault_is_left_out(
    broken: Callable[..., list[Any]], code: str, name: str, changes: tuple[tuple[str, str], ...]
) -> None:
    assert [violation.code for violation in broken(name, *changes)] == [code]


@pytest.mark.parametrize("code", ONE_EACH)
def test_one_rule_alone(broken: Callable[..., list[Any]], code: str) -> None:
    name, changes = ONE_EACH[code]
    found = broken(name, *changes)
    assert {violation.code for violation in found} == {code}, found
    assert all(violation.where.startswith("n") and violation.message for violation in found)


def test_all_codes_of_netlists_in_this_format_are_here() -> None:
    """But for E0611, which is an error of the file."""
    ours = {code for code in CODES if "E0612" <= code < "E0700"}
    assert ours <= set(ONE_EACH)


@pytest.mark.parametrize("name", ["base", "chips", "fused", "grayskull", "numbers", "ops"])
def test_without_a_change_nothing_is_broken(broken: Callable[..., list[Any]], name: str) -> None:
    assert broken(name) == []

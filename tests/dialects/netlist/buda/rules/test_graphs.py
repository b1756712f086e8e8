"""Graphs and the common fields of ops: one rule broken at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

HOLD = "          hold: {prologue: false, epilogue: false, zero: false, rd_ptr_local: $l, rd_ptr_global: $g},\n"


@pytest.mark.parametrize(
    ("name", "changes", "code", "place", "part"),
    [
        ("base", ("  first:\n    target_device: 0\n", "  first:\n"), "E0614", "graph 'first'", "target_device is missing"),
        ("base", ("    input_count: 2\n    product", "    product"), "E0614", "graph 'first'", "input_count is missing"),
        ("base", ("      math_fidelity: HiFi3\n", ""), "E0614", "op 'product'", "math_fidelity is missing"),
        ("base", ("      grid_loc: [0, 0]\n", ""), "E0614", "op 'product'", "grid_loc is missing"),
        ("base", ("      out_df: Float16_b\n", ""), "E0614", "op 'product'", "out_df is missing"),
        ("base", ("      buf_size_mb: 2\n", "      buf_size_mb: -1\n"), "E0615", "op 'product'", "at least 0, not -1"),
        (
            "chips",
            (("    stay2: {", "    last: {"), ("{input: stay2,", "{input: last,")),
            "E0601",
            "op 'last'",
            "graph 'g1' has an op of this name",
        ),
        ("base", ("in_df: [Float16_b, Bfp8_b, Float16_b]", "in_df: [Float16_b, Bfp8_b]"), "E0616", "op 'product'", "2 formats"),
        (
            "base",
            ("inputs: [turn], in_df: [Float16_b]", "inputs: [turn, turn], in_df: [Float16_b, Float16_b]"),
            "E0616",
            "op 'back'",
            "nop takes 1 inputs, not 2",
        ),
        ("base", ("input_buf_min_size_tiles: [0, 0, 0]", "input_buf_min_size_tiles: [0, 0]"), "E0616", "op 'product'", "each of 3"),
        ("base", ("      input_2_tms: [br", "      input_5_pad: {rt: 1}\n      input_2_tms: [br"), "E0616", "op 'product'", "no input 5"),
        ("base", ("inputs: [sum]", "inputs: [smu]"), "E0601", "op 'turn'", "'smu' is no queue and no op"),
        (
            "base",
            ("inputs: [sum]", "forked_dram_inputs: [{x: sum}, {y: turn}, {n: sum}], inputs: [sum]"),
            "E0601",
            "op 'turn'",
            "'n' of 'sum'",
        ),
        (
            "base",
            ("      gradient_op: false\n", "      gradient_op: false\n      overlay_sise: 1\n"),
            "E0613",
            "op 'product'",
            "overlay_sise",
        ),
        ("base", ("  y:    {input: out,", "  y:    {input: HOST,"), "E0606", "op 'out'", "nothing reads it"),
        ("base", ("grid_loc: [0, 1], grid_size: [1, 2]", "grid_loc: [0, 0], grid_size: [1, 2]"), "E0603", "op 'act'", "core [0, 0]"),
        (
            "base",
            ("grid_loc: [0, 1], grid_size: [1, 2]", "grid_loc: [0, 7], grid_size: [1, 2]"),
            "E0603",
            "op 'act'",
            "10x8 of wormhole_b0",
        ),
        ("base", ("grid_loc: [0, 1], grid_size: [1, 2]", "grid_loc: [10, 0], grid_size: [1, 2]"), "E0603", "op 'act'", "at [10, 0]"),
        ("base", ("grid_loc: [2, 1]", "grid_loc: [0, 1]"), "E0603", "op 'back'", "core [0, 1] belongs to op 'sum'"),
        ("chips", (("inputs: [hold], in_df", "inputs: [stay], in_df"), (HOLD, "")), "E0606", "op 'keep'", "graph 'g0' on the same device"),
        (
            "numbers",
            (
                "out_df: Int8, intermed_df: Int8, math_fidelity: HiFi4, t: 1, mblock: [1, 1], ublock: [2, 2], ublock_order: r",
                "out_df: Int8, intermed_df: Int8, math_fidelity: HiFi4, t: 1, mblock: [1, 1], ublock: [2, 2], ublock_order: c",
            ),
            "E0632",
            "op 'untiled'",
            "ublock_order r",
        ),
        (
            "base",
            ("    sum: {type: add, grid_loc: [0, 0], ", "    sum: {type: add, untilize_output: true, grid_loc: [0, 0], "),
            "E0632",
            "op 'sum'",
            "op 'turn' reads its output",
        ),
    ],
)
def test_one_broken_rule(
    only: Callable[..., None], name: str, changes: tuple[str, str] | tuple[tuple[str, str], ...], code: str, place: str, part: str
) -> None:
    only(name, changes, code, place, part)


def test_untilized_outputs(only: Callable[..., None]) -> None:
    grid = (
        "grid_size: [1, 1], t: 1, mblock: [2, 1], ublock: [1, 4], ublock_order: r, df: Float16_b, target_device: 0, loc: host, host: [0x0]",
        "grid_size: [2, 1], t: 1, mblock: [1, 1], ublock: [1, 4], ublock_order: r, "
        "df: Float16_b, target_device: 0, loc: host, host: [0x0, 0x10000]",
    )
    only("base", grid, "E0632", "queue 'y'", "its grid is 1x1, not 2x1")
    second = (
        "  y:    {input: out,",
        "  y2:   {input: out, type: queue, entries: 4, grid_size: [1, 1], t: 1, mblock: [2, 1], ublock: [1, 4], "
        "df: Float16_b, target_device: 0, loc: host, host: [[1, 0x0]]}\n  y:    {input: out,",
    )
    only("base", second, "E0632", "op 'out'", "2 queues take its untilized output")

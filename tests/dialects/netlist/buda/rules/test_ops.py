"""Single ops: one rule broken at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttc.dialects.netlist.violations import Violation

ACT = "t: 1, mblock: [2, 1], ublock: [1, 2], ublock_order: r, buf_size_mb: 2, attributes: {approximate_mode: true}"
MID = "grid_size: [1, 2], t: 1, mblock: [2, 1], ublock: [1, 2], ublock_order: r, df: Float16_b"
SLOPE = (
    "slope: {type: multiply, grid_loc: [0, 2], grid_size: [1, 1], inputs: [later, later], in_df: [Float16_b, Float16_b], "
    "acc_df: Float16_b, out_df: Float16_b, intermed_df: Float16_b"
)


@pytest.mark.parametrize(
    ("name", "changes", "code", "place", "part"),
    [
        (
            "base",
            (
                ("      mblock: [2, 1]\n      ublock: [1, 4]\n", "      mblock: [1, 1]\n      ublock: [2, 4]\n"),
                ("      acc_df: Float16_b\n", "      acc_df: Float32\n"),
            ),
            "E0624",
            "op 'product'",
            "2x4 is 8 tiles, but the destination register holds 4",
        ),
        ("base", ("      ublock_order: r\n", "      ublock_order: c\n"), "E0629", "op 'product'", "order r, not c"),
        ("base", ("bias: true, kernel", "bias: false, kernel"), "E0629", "op 'product'", "3 inputs, but its attributes ask for 2"),
        (
            "ops",
            ("identity: true, m_k", "identity: true, accumulate: true, z: 1, m_k"),
            "E0629",
            "op 'identity'",
            "cannot accumulate over z",
        ),
        (
            "ops",
            (
                (
                    "df: RawUInt32, target_device: 0, loc: dram, dram: [[0, 0x22000000]]",
                    "df: Float32, target_device: 0, loc: dram, dram: [[0, 0x22000000]]",
                ),
                ("in_df: [Bfp2_b, Float16_b, RawUInt32]", "in_df: [Bfp2_b, Float16_b, Float32]"),
            ),
            "E0629",
            "op 'identity'",
            "not Float32",
        ),
        (
            "ops",
            ("inputs: [sparse, dense, codes],", "inputs: [sparse, dense, codes], input_2_tms: [hstack: 1],"),
            "E0629",
            "op 'identity'",
            "broadcast, nothing else",
        ),
        ("numbers", ("requant: true,", "requant: true, dequant: true,"), "E0629", "op 'product'", "rule each other out"),
        ("ops", ("attributes: {m_k: 2, u_kt: 1}", "attributes: {m_k: 1, u_kt: 2}"), "E0635", "op 'depthwise'", "is 1, not 2"),
        ("ops", ("inputs: [plainly],", "inputs: [plainly], input_0_tms: [hslice: 1],"), "E0635", "op 'tilizer'", "no tile manipulations"),
        (
            "base",
            (("kernel_broadcast: {input_2: 4}", "kernel_broadcast: {input_1: 4}")),
            "E0630",
            "op 'product'",
            "input 1, which no tile manipulation",
        ),
        (
            "base",
            (
                ("kernel_broadcast: {input_2: 4}", "kernel_broadcast: {input_1: 6}"),
                ("input_2_tms", "input_1_tms: [broadcast: {z: 1}]\n      input_2_tms"),
            ),
            "E0630",
            "op 'product'",
            "6 tiles of input 1 is no multiple of 4",
        ),
        (
            "base",
            ("inputs: [mid, cache],", "inputs: [mid, cache], input_1_tms: [transpose, transpose],"),
            "E0623",
            "op 'sum'",
            "input 1 of add cannot be transposed",
        ),
        (
            "base",
            ("inputs: [back],", "inputs: [back], input_0_pad: {rt: 0, ct: 0}, input_0_tms: [pad: [0, 0, 1.0]],"),
            "E0623",
            "op 'out'",
            "padded 2 times",
        ),
        ("base", ("inputs: [back],", "inputs: [back], input_0_tms: [tile_broadcast: r],"), "E0623", "op 'out'", "inside a fused op alone"),
        ("chips", (SLOPE, SLOPE.replace("intermed_df: Float16_b", "intermed_df: Float32")), "E0633", "op 'slope'", "differs from out_df"),
        ("chips", (SLOPE, SLOPE.replace("multiply", "maximum")), "E0633", "op 'slope'", "maximum cannot add up gradients"),
        ("chips", (SLOPE, SLOPE.replace("acc_df: Float16_b", "acc_df: Int32")), "E0633", "op 'slope'", "do not add up in Int32"),
        ("chips", (SLOPE, SLOPE + ", input_0_tms: [transpose]"), "E0633", "op 'slope'", "cannot transpose"),
        ("grayskull", ("sum: {type: multiply, grid", "sum: {type: add, grid"), "E0633", "op 'sum'", "on Grayskull"),
        ("grayskull", ("sfpu_execution_thread: math", "sfpu_execution_thread: pack"), "E0607", "op 'curve'", "thread math"),
        (
            "ops",
            (
                (
                    "ublock: [1, 2], ublock_order: r, buf_size_mb: 2, attributes: {num_indices: 32}",
                    "ublock: [2, 2], ublock_order: r, buf_size_mb: 2, attributes: {num_indices: 32}",
                ),
                (
                    "{input: embedding, type: queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [1, 2]",
                    "{input: embedding, type: queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [2, 2]",
                ),
            ),
            "E0635",
            "op 'embedding'",
            "one row, not 2",
        ),
    ],
)
def test_one_broken_rule(only: Callable[..., None], name: str, changes: tuple[str, str], code: str, place: str, part: str) -> None:
    only(name, changes, code, place, part)


def test_layouts_without_tiles(broken: Callable[..., list[Violation]]) -> None:
    tiled = broken(
        "ops",
        (
            "layout: flat, df: Float16_b, target_device: 0, loc: dram, dram: [[0, 0x27",
            "df: Float16_b, target_device: 0, loc: dram, dram: [[0, 0x27",
        ),
    )
    assert [(v.code, v.message) for v in tiled] == [("E0635", "input 0, 'table', is tilized, but embedding takes layout flat")]
    flat = broken(
        "ops",
        (
            "df: Float16_b, target_device: 0, loc: dram, dram: [[0, 0x25",
            "layout: flat, df: Float16_b, target_device: 0, loc: dram, dram: [[0, 0x25",
        ),
    )
    assert {(v.code, v.message) for v in flat} == {
        ("E0635", "input 0, 'deep', has layout flat, which splice does not take"),
        ("E0635", "input 0, 'deep', has layout flat, which reduce does not take"),
    }


def test_odd_ops(only: Callable[..., None]) -> None:
    only("ops", ("attributes: {num_indices: 32}", "attributes: {num_indices: 64}"), "E0635", "op 'embedding'", "64 indices make 2 rows")
    tilizer = "ublock: [1, 2], ublock_order: r, buf_size_mb: 2}\n    by_ublock"
    changes = (
        (tilizer, tilizer.replace("[1, 2]", "[2, 1]")),
        (
            "{input: tilizer, type: queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [1, 2]",
            "{input: tilizer, type: queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [2, 1]",
        ),
        (
            "plainly: {input: HOST, type: queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [1, 2]",
            "plainly: {input: HOST, type: queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [2, 1], ublock: [1, 1]",
        ),
    )
    only("ops", changes, "E0635", "op 'tilizer'", "a tilizer with ublocks of 2 rows has those of its input, [1, 1]")


def test_a_single_tile_is_broadcast(only: Callable[..., None]) -> None:
    only("base", ("approximate_mode: true", "single_tile: [0]"), "E0630", "op 'act'", "kernel_broadcast of 1 tiles of input 0")


def test_more_room_in_the_first_wormhole(broken: Callable[..., list[Violation]]) -> None:
    changes = (
        ("      mblock: [2, 1]\n      ublock: [1, 4]\n", "      mblock: [1, 1]\n      ublock: [2, 4]\n"),
        ("      acc_df: Float16_b\n", "      acc_df: Float32\n"),
        ("arch: wormhole_b0", "arch: [wormhole, WORMHOLE_B0]"),
    )
    found = broken("base", *changes)
    assert [v.message.endswith("(on wormhole_b0)") for v in found] == [True]
    assert broken("base", *changes, arch="wormhole") == []

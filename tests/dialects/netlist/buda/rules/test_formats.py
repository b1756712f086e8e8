"""Data formats: one rule broken at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttc.dialects.netlist.violations import Violation

PRODUCT = "in_df: [Int8, Int8, Int32, Float32], acc_df: Int32, out_df: Int8, intermed_df: Int32, math_fidelity: HiFi4"
UNTILED = "in_df: [Int8], acc_df: Int32, out_df: Int8, intermed_df: Int8, math_fidelity: HiFi4"
QUANT = "in_df: [Float32, Float32], acc_df: Int32, out_df: Int8"
GRAY = (
    "inputs: [x, w], in_df: [Float16_b, Float16_b], acc_df: Float16_b, out_df: Float16_b, intermed_df: Float16_b, math_fidelity: HiFi3, "
    "t: 1, mblock: [1, 1], ublock: [2, 2], ublock_order: r, buf_size_mb: 2, attributes: {m_k: 2, u_kt: 1}"
)


@pytest.mark.parametrize(
    ("name", "changes", "code", "place", "part"),
    [
        (
            "base",
            ("in_df: [Float16_b, Bfp8_b, Float16_b]", "in_df: [Float16_b, Bfp4_b, Float16_b]"),
            "E0625",
            "op 'product'",
            "in_df says Bfp4_b for input 'w', which holds Bfp8_b",
        ),
        ("base", ("      out_df: Float16_b\n", "      out_df: Bfp8_b\n"), "E0625", "op 'act'", "in_df says Float16_b for input 'product'"),
        (
            "fused",
            (
                "  y:   {input: norm, type: queue, entries: 2, grid_size: [1, 1], t: 1, mblock: [2, 2], ublock: [1, 2], df: Float16_b",
                "  y:   {input: norm, type: queue, entries: 2, grid_size: [1, 1], t: 1, mblock: [2, 2], ublock: [1, 2], df: Bfp8_b",
            ),
            "E0625",
            "queue 'y'",
            "it holds Bfp8_b, but op 'norm'",
        ),
        ("base", ("      intermed_df: Float16_b\n", "      intermed_df: Bfp4_b\n"), "E0607", "op 'product'", "cannot be kept in Bfp4_b"),
        (
            "base",
            (("kernel_broadcast: {input_2: 4}", "l1_acc: true"), ("      intermed_df: Float16_b\n", "      intermed_df: Bfp8_b\n")),
            "E0607",
            "op 'product'",
            "l1_acc adds up in Float32, Int32, Float16_b, not in Bfp8_b",
        ),
        (
            "base",
            (("kernel_broadcast: {input_2: 4}", "l1_acc: true"), ("      acc_df: Float16_b\n", "      acc_df: Float32\n")),
            "E0607",
            "op 'product'",
            "has intermed_df Float32 too",
        ),
        (
            "base",
            (("kernel_broadcast: {input_2: 4}", "stoch_rnd_mode: fpu"), ("      acc_df: Float16_b\n", "      acc_df: Float32\n")),
            "E0607",
            "op 'product'",
            "stoch_rnd_mode fpu does not go with acc_df Float32",
        ),
        ("grayskull", ("attributes: {m_k: 2, u_kt: 1}", "attributes: {m_k: 2, u_kt: 1, l1_acc: true}"), "E0607", "op 'product'", "l1_acc"),
        (
            "grayskull",
            ("attributes: {m_k: 2, u_kt: 1}", "attributes: {m_k: 2, u_kt: 1, stoch_rnd_mode: all}"),
            "E0607",
            "op 'product'",
            "no stochastic rounding",
        ),
        (
            "grayskull",
            (GRAY, GRAY.replace("acc_df: Float16_b", "acc_df: Float32")),
            "E0607",
            "op 'product'",
            "does not accumulate in Float32",
        ),
        ("grayskull", (GRAY, GRAY.replace("intermed_df: Float16_b", "intermed_df: Float16")), "E0607", "op 'product'", "differ in width"),
        ("numbers", (PRODUCT, PRODUCT.replace("HiFi4", "HiFi3")), "E0626", "op 'product'", "HiFi4, not HiFi3"),
        ("numbers", (PRODUCT, PRODUCT.replace("acc_df: Int32", "acc_df: Float32")), "E0626", "op 'product'", "accumulate in Int32"),
        (
            "numbers",
            (PRODUCT, PRODUCT.replace("intermed_df: Int32", "intermed_df: Float32")),
            "E0626",
            "op 'product'",
            "Int8, UInt8 or Int32",
        ),
        (
            "numbers",
            (
                (PRODUCT, PRODUCT.replace("out_df: Int8", "out_df: Float32")),
                (
                    "{input: product, type: queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [2, 2], df: Int8",
                    "{input: product, type: queue, entries: 1, grid_size: [1, 1], t: 1, mblock: [1, 1], ublock: [2, 2], df: Float32",
                ),
            ),
            "E0626",
            "op 'product'",
            "an integer too, not Float32",
        ),
        ("numbers", ("min_buffer_input: 0", "min_buffer_input: 1"), "E0626", "op 'product'", "min_buffer_input 1"),
        ("numbers", ("min_buffer_input: 0", "l1_acc: true"), "E0626", "op 'product'", "cannot accumulate in L1"),
        (
            "numbers",
            (
                (PRODUCT, PRODUCT.replace("Int8, Int8, Int32,", "Int8, Int8, Int8,")),
                ("inputs: [a, b, bias, scale]", "inputs: [a, b, a, scale]"),
                ("          bias: {prologue: false, epilogue: false, zero: false, rd_ptr_local: $l, rd_ptr_global: $g},\n", ""),
            ),
            "E0626",
            "op 'product'",
            "is Int32, not Int8",
        ),
        (
            "numbers",
            (
                (QUANT, QUANT.replace("Float32, Float32", "Int8, Float32")),
                ("inputs: [real, scale]", "inputs: [a, scale]"),
                ("          real: {prologue: false, epilogue: false, zero: false, rd_ptr_local: $l, rd_ptr_global: $g},\n", ""),
            ),
            "E0626",
            "op 'quant'",
            "takes Float32 and a scale in Float32, not Int8",
        ),
        (
            "ops",
            (
                "in_df: [Float16_b], acc_df: Float16_b, out_df: Float16_b, intermed_df: Float16_b, math_fidelity: HiFi3, t: 2",
                "in_df: [Float16_b], acc_df: Float16_b, out_df: Float16_b, intermed_df: Float32, math_fidelity: HiFi3, t: 2",
            ),
            "E0607",
            "op 'along_z'",
            "one format throughout",
        ),
    ],
)
def test_one_broken_rule(only: Callable[..., None], name: str, changes: tuple[str, str], code: str, place: str, part: str) -> None:
    only(name, changes, code, place, part)


def test_a_netlist_for_several_architectures_may_use_what_grayskull_lacks(broken: Callable[..., list[Violation]]) -> None:
    wide = (GRAY, GRAY.replace("acc_df: Float16_b", "acc_df: Float32"))
    assert broken("grayskull", wide, ("arch: grayskull", "arch: [grayskull, blackhole]"), ("grid_loc: [9, 11]", "grid_loc: [9, 3]")) == []


def test_formats_that_grayskull_lacks(only: Callable[..., None]) -> None:
    both, other = "inputs: [x, w], in_df: [Float16_b, Float16_b]", "inputs: [x, w], in_df: [Float16_b, Fp8_e4m3]"
    starts = (
        "product: {type: matmul, grid_loc: [9, 11]",
        "sum: {type: multiply, grid_loc: [0, 0]",
        "fused: {type: fused_op, grid_loc: [0, 2]",
    )
    changes = [(f"{start}, grid_size: [1, 1], {both}", f"{start}, grid_size: [1, 1], {other}") for start in starts]
    place = ", target_device: 0, loc: dram, dram: [[7,"
    only(
        "grayskull", (*changes, (f"df: Float16_b{place}", f"df: Fp8_e4m3{place}")), "E0607", "queue 'w'", "Grayskull has no format Fp8_e4m3"
    )


def test_untilized_formats(only: Callable[..., None]) -> None:
    changes = (
        (
            "intermed_df: Float16_b, math_fidelity: LoFi, t: 1, mblock: [2, 1], ublock: [1, 4], ublock_order: r, buf_size_mb: 2, untilize",
            "intermed_df: Float16_b, math_fidelity: LoFi, t: 1, mblock: [2, 1], ublock: [1, 4], ublock_order: r, buf_size_mb: 2, untilize",
        ),
        (
            "inputs: [back], in_df: [Float16_b], acc_df: Float16_b, out_df: Float16_b",
            "inputs: [back], in_df: [Float16_b], acc_df: Float16_b, out_df: Bfp8_b",
        ),
        ("ublock_order: r, df: Float16_b, target_device: 0, loc: host", "ublock_order: r, df: Bfp8_b, target_device: 0, loc: host"),
    )
    only("base", changes, "E0632", "op 'out'", "Bfp8_b cannot be untilized")

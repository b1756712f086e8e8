"""Small tiles: one rule broken at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SLIM = "df: Float16, tile_dim: [32, 16], target_device: 0, loc: dram, dram: [[4, 0x21000000]]"
EXP = "tile_dim: [1, 32], attributes: {vector: r}"
THIN = "df: Float16, tile_dim: [1, 32], target_device: 0, loc: dram, dram: [[4"
Y3 = "df: Float16, tile_dim: [1, 32], target_device: 0, loc: dram, dram: [[5, 0x23"


@pytest.mark.parametrize(
    ("name", "changes", "place", "part"),
    [
        ("numbers", (Y3, Y3.replace("tile_dim: [1, 32], ", "")), "queue 'y3'", "its tiles are 32x32, but those of op 'thin_exp'"),
        ("numbers", (EXP, "tile_dim: [1, 32], attributes: {vector: c}"), "op 'thin_exp'", "need attribute vector r"),
        ("numbers", (EXP, "tile_dim: [1, 32]"), "op 'thin_exp'", "need attribute vector r"),
        ("numbers", ((SLIM, SLIM.replace("tile_dim: [32, 16], ", ""))), "op 'slim_product'", "input 1 has tiles of 32x32"),
        (
            "numbers",
            ("tile_dim: [32, 16], attributes: {m_k: 1, u_kt: 2}", "tile_dim: [32, 16], attributes: {m_k: 1, u_kt: 2, sfpu_op: gelu}"),
            "op 'slim_product'",
            "no sfpu_op",
        ),
        ("numbers", ("inputs: [full, slim],", "inputs: [full, slim], input_1_tms: [transpose],"), "op 'slim_product'", "cannot transpose"),
        (
            "numbers",
            ("df: Int8, target_device: 0, loc: dram, dram: [[0,", "df: Int8, tile_dim: [16, 32], target_device: 0, loc: dram, dram: [[0,"),
            "queue 'a'",
            "tiles of 16x32 do not hold Int8",
        ),
        (
            "ops",
            (
                "df: Float16_b, target_device: 0, loc: dram, dram: [[0, 0x23000000]]",
                "df: Float16_b, tile_dim: [16, 32], target_device: 0, loc: dram, dram: [[0, 0x23000000]]",
            ),
            "op 'depthwise'",
            "takes tiles of 32x32 alone",
        ),
        (
            "ops",
            (
                (
                    "df: Float16_b, target_device: 0, loc: dram, dram: [[1, 0x23000000]]",
                    "df: Float16_b, tile_dim: [16, 32], target_device: 0, loc: dram, dram: [[1, 0x23000000]]",
                ),
                ("buf_size_mb: 2, attributes: {dim: c", "buf_size_mb: 2, tile_dim: [16, 32], attributes: {dim: c"),
            ),
            "op 'largest'",
            "makes tiles of 32 rows",
        ),
        (
            "base",
            (("    df: Float16_b\n", "    df: Float16_b\n    tile_dim: [16, 32]\n")),
            "op 'sum'",
            "tiles of its inputs differ: 32x32, 16x32",
        ),
        (
            "grayskull",
            ("dram: [[0, 0x20000000]]", "tile_dim: [16, 32], dram: [[0, 0x20000000]]"),
            "queue 'x'",
            "Grayskull has no tiles of 16x32",
        ),
    ],
)
def test_one_broken_rule(only: Callable[..., None], name: str, changes: tuple[str, str], place: str, part: str) -> None:
    only(name, changes, "E0634", place, part)


@pytest.mark.parametrize(("format", "holds"), [("Bfp8", True), ("Bfp4", False), ("Bfp2_b", False)])
def test_formats_of_the_thinnest_tiles(broken: Callable[..., list[object]], format: str, holds: bool) -> None:
    changes = [
        (THIN, THIN.replace("Float16", format)),
        ("inputs: [thin], in_df: [Float16]", f"inputs: [thin], in_df: [{format}]"),
        ("inputs: [thin, thin], in_df: [Float16, Float16]", f"inputs: [thin, thin], in_df: [{format}, {format}]"),
    ]
    found = broken("numbers", *changes)
    assert holds == (found == [])
    assert holds or "no multiple of what the NoC moves" in str(found)


SMALL = "tile_dim: [1, 32], target_device: 0, loc: dram, dram: [[2, 0x20000000]]"


def test_a_bias_of_one_row_goes_with_an_activation(broken: Callable[..., list[object]]) -> None:
    """The reference refuses sfpu_op where factors or results are in small tiles, not for the bias."""
    bias = ("df: Float16_b, target_device: 0, loc: dram, dram: [[2, 0x20000000]]", f"df: Float16_b, {SMALL}")
    assert broken("base", bias, ("m_k: 2, u_kt: 2, bias", "m_k: 2, u_kt: 2, sfpu_op: gelu, bias")) == []


@pytest.mark.parametrize("op", ["type: embedding", "type: depthwise"])
def test_results_in_small_tiles(broken: Callable[..., list[object]], op: str) -> None:
    """What takes whole tiles alone may make small ones."""
    found = broken("ops", (op, f"tile_dim: [16, 32], {op}"))
    assert not [violation for violation in found if "takes tiles of 32x32 alone" in str(violation)]

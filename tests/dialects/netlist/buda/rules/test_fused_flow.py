"""Values inside fused ops: lives and blocks; one rule broken at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SUB = "input_1_tms: [broadcast: {c: 4}, tile_broadcast: c]"


@pytest.mark.parametrize(
    ("changes", "code", "place", "part"),
    [
        (("pop: [intermed2], ", ""), "E0644", "fused op '0': sub-op 'root'", "intermed2, made by it, is never popped"),
        (("pop_last: [intermed1], ", ""), "E0644", "fused op '0': sub-op 'mean'", "intermed1, made by it, is never popped"),
        (
            ("inputs: [intermed2, intermed2], pop: [intermed2]", "inputs: [intermed2, intermed1], pop: [intermed2]"),
            "E0644",
            "fused op '0': sub-op 'twice'",
            "reads intermed1, which holds nothing",
        ),
        (
            (
                ("pop: [intermed0], mblock", "mblock"),
                ("output: intermed2}", "output: intermed0}"),
                ("inputs: [intermed2, intermed2], pop: [intermed2]", "inputs: [intermed0, intermed0], pop: [intermed0]"),
            ),
            "E0644",
            "fused op '0': sub-op 'root'",
            "still holds what 'add.a' made",
        ),
        (
            (
                ("pop: [intermed0], mblock", "mblock"),
                ("inputs: [intermed2, intermed2], pop: [intermed2]", "inputs: [intermed2, intermed0], pop: [intermed2, intermed0]"),
            ),
            "E0644",
            "fused op '0': sub-op 'twice'",
            "or a single mblock 1x1, not 2x2",
        ),
        (
            ("ublock: [1, 2], output: intermed2}", "ublock: [1, 1], output: intermed2}"),
            "E0645",
            "fused op '0': sub-op 'root'",
            "input 0, dest, is mblock 2x2 of ublocks 1x2, but it makes mblock 2x2 of ublocks 1x1",
        ),
        (
            ("pop: [intermed2], mblock: [2, 2], ublock: [1, 2]", "pop: [intermed2], mblock: [4, 2], ublock: [1, 2]"),
            "E0645",
            "fused op '0': sub-op 'twice'",
            "it makes the output in blocks mblock 4x2",
        ),
        (
            ("attributes: {m_k: 2, u_kt: 2}", "attributes: {m_k: 4, u_kt: 1}"),
            "E0645",
            "fused op '0': sub-op 'mean'",
            "m_k 4 and u_kt 1 are the columns",
        ),
        (
            (
                "- add.a: {type: add, inputs: [input0, input1], mblock: [2, 2]",
                "- add.a: {type: add, inputs: [input0, input1], mblock: [3, 2]",
            ),
            "E0645",
            "fused op '0': sub-op 'add.a'",
            "input0 of op 'norm' is 1x2x4 tiles after its tile manipulations, but it needs 1x3x4",
        ),
        ((SUB, SUB.replace("c: 4", "c: 3")), "E0645", "fused op '0': sub-op 'sub'", "input 1, intermed1, is mblock 2x1 of ublocks 1x1"),
        ((SUB, "input_1_tms: [broadcast: {r: 2}]"), "E0643", "fused op '0': sub-op 'sub'", "along r takes one row of tiles, not mblock 2"),
        (
            ("pop: [intermed0], mblock: [2, 1]", "input_0_tms: [broadcast: {c: 2}], pop: [intermed0], mblock: [2, 1]"),
            "E0643",
            "fused op '0': sub-op 'mean'",
            "a matmul broadcasts input 0 along c, of 1 or 2 columns of one tile",
        ),
    ],
)
def test_one_broken_rule(only: Callable[..., None], changes: tuple[str, str], code: str, place: str, part: str) -> None:
    only("fused", changes, code, place, part)


MAX = "- mean: {type: reduce, inputs: [intermed0], attributes: {m_k: 2, u_kt: 2, dim: c, type: max}, pop: [intermed0], mblock: [2, 1]"
MEAN = "- mean: {type: matmul, inputs: [intermed0, input2], attributes: {m_k: 2, u_kt: 2}, pop: [intermed0], mblock: [2, 1]"
ROOT = "{type: sqrt, inputs: [dest], mblock"


def test_a_reduction_inside(broken: Callable[..., list[object]]) -> None:
    third = (ROOT, "{type: nop, inputs: [dest], mblock")
    drop = ("    inputs: 3\n", "    inputs: 2\n")
    feed = (
        ("inputs: [x, z, one]", "inputs: [x, z]"),
        ("in_df: [Float16_b, Float16_b, Float16_b]", "in_df: [Float16_b, Float16_b]"),
        (",\n          one: {prologue: false, epilogue: false, zero: false, rd_ptr_local: $l, rd_ptr_global: $g}", ""),
    )
    assert broken("fused", (MEAN, MAX), third, drop, *feed) == []
    found = broken("fused", (MEAN, MAX.replace("u_kt: 2", "u_kt: 1")), third, drop, *feed)
    assert "a reduction along c with m_k 2, u_kt 1 makes mblock 2x1 of ublocks 1x1" in str(found)

"""Fused ops: what they are made of, order, and broadcasts; one rule broken at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttc.dialects.netlist.violations import Violation

SUB = "input_1_tms: [broadcast: {c: 4}, tile_broadcast: c]"


@pytest.mark.parametrize(
    ("name", "changes", "code", "place", "part"),
    [
        ("fused", ("fused_op_id: 0", "fused_op_id: 7"), "E0601", "op 'norm'", "no fused op '7'"),
        ("fused", ("    inputs: 3\n", ""), "E0614", "fused op '0'", "inputs is missing"),
        ("fused", ("    intermediates: 3\n", "    intermediates: 9\n"), "E0640", "fused op '0'", "at most 8"),
        ("fused", ("    inputs: 3\n", "    inputs: 4\n"), "E0640", "op 'norm'", "has 3 inputs, but fused op '0' takes 4"),
        ("fused", ("- twice: {", "- root: {"), "E0640", "fused op '0': sub-op 'root'", "another sub-op of this name"),
        ("fused", ("{type: sqrt,", "{type: fused_op,"), "E0640", "fused op '0': sub-op 'root'", "cannot hold another"),
        ("fused", ("{type: sqrt,", "{type: splice,"), "E0640", "fused op '0': sub-op 'root'", "cannot be part"),
        ("fused", ("{type: sqrt,", "{type: add,"), "E0640", "fused op '0': sub-op 'root'", "takes 2 inputs, not 1"),
        ("fused", ("{type: sqrt, inputs: [dest]", "{type: sqrt, inputs: [dset]"), "E0640", "fused op '0': sub-op 'root'", "names 'dset'"),
        ("fused", ("output: intermed1}", "output: intermed3}"), "E0640", "fused op '0': sub-op 'mean'", "there are 3 intermediates"),
        ("fused", ("    intermediates: 3\n", "    intermediates: 2\n"), "E0640", "fused op '0': sub-op 'root'", "there are 2"),
        ("fused", ("output: intermed2}", "output: output}"), "E0640", "fused op '0': sub-op 'twice'", "sub-op 'root' makes the output"),
        (
            "fused",
            (
                (
                    "pop: [intermed2], mblock: [2, 2], ublock: [1, 2], output: output}",
                    "pop: [intermed2], mblock: [2, 2], ublock: [1, 2], output: intermed0}",
                )
            ),
            "E0640",
            "fused op '0'",
            "no sub-op makes the output",
        ),
        ("fused", ("pop: [intermed0], mblock", "pop: [input1], mblock"), "E0644", "fused op '0': sub-op 'mean'", "pop names 'input1'"),
        ("fused", ("{type: sqrt,", "{type: sqrt, attributes: {m_j: 1},"), "E0627", "fused op '0': sub-op 'root'", "no attribute 'm_j'"),
        (
            "fused",
            ("attributes: {m_k: 2, u_kt: 2}", "attributes: {m_k: 2}"),
            "E0628",
            "fused op '0': sub-op 'mean'",
            "u_kt of a matmul is missing",
        ),
        ("fused", ("{type: sqrt, inputs: [dest],", "{inputs: [dest],"), "E0614", "fused op '0': sub-op 'root'", "type is missing"),
        ("fused", ("inputs: [dest], mblock", "inputs: [input0], mblock"), "E0641", "fused op '0': sub-op 'root'", "which it does not read"),
        (
            "fused",
            (
                "{type: subtract, inputs: [dest, intermed1], " + SUB,
                "{type: maximum, inputs: [dest, intermed1], input_1_tms: [broadcast: {c: 4}]",
            ),
            "E0641",
            "fused op '0': sub-op 'sub'",
            "maximum cannot read dest",
        ),
        (
            "fused",
            (("- mean: {type: matmul", "- mean: {type: matmul"), ("      -\n        - add.b", "        - add.b")),
            "E0642",
            "fused op '0': sub-op 'mean'",
            "ends its schedule",
        ),
        (
            "fused",
            (SUB, "input_1_tms: [broadcast: {c: 4}, broadcast: {r: 1}, tile_broadcast: c]"),
            "E0643",
            "fused op '0': sub-op 'sub'",
            "along r and c",
        ),
        ("fused", (SUB, "input_1_tms: [broadcast: {c: 4}, hstack: 1]"), "E0643", "fused op '0': sub-op 'sub'", "no hstack inside"),
        ("fused", (SUB, SUB + ", input_0_tms: [tile_broadcast: r]"), "E0643", "fused op '0': sub-op 'sub'", "of input 1 of add"),
        ("fused", (SUB, SUB + ", input_2_tms: [tile_broadcast: r]"), "E0616", "fused op '0': sub-op 'sub'", "no input 2"),
        (
            "fused",
            (
                "- add.a: {type: add, inputs: [input0, input1],",
                "- add.a: {type: add, inputs: [input0, input1], input_0_tms: [broadcast: {r: 1}],",
            ),
            "E0643",
            "fused op '0': sub-op 'add.a'",
            "intermediates alone can be broadcast",
        ),
        (
            "grayskull",
            ("inputs: [dest, input1]", "inputs: [input1, dest]"),
            "E0641",
            "fused op '4': sub-op 'sum'",
            "on Grayskull input 0 alone",
        ),
        (
            "grayskull",
            (
                "inputs: [input0], mblock: [1, 1], ublock: [2, 2], output: dest}",
                "inputs: [input0], mblock: [1, 1], ublock: [2, 2], output: dest}\n      -",
            ),
            "E0641",
            "fused op '4': sub-op",
            "dest",
        ),
    ],
)
def test_one_broken_rule(only: Callable[..., None], name: str, changes: tuple[str, str], code: str, place: str, part: str) -> None:
    only(name, changes, code, place, part)


def test_a_sub_op_that_does_not_fit_the_destination_register(broken: Callable[..., list[Violation]]) -> None:
    found = broken("fused", ("ublock: [1, 2], output: intermed2}", "ublock: [3, 4], output: intermed2}"))
    assert [v.message for v in found if v.code == "E0624"] == ["ublock 3x4 is 12 tiles, but the destination register holds 8"]


def test_products_inside(broken: Callable[..., list[Violation]]) -> None:
    to_output = broken("fused", ("ublock: [1, 1], output: intermed1}", "ublock: [1, 1], output: dest}"))
    assert any(v.code == "E0642" and "collects its result in an intermediate, not in dest" in v.message for v in to_output)
    second = broken("fused", ("inputs: [intermed0, input2], attr", "inputs: [input2, intermed0], attr"))
    assert any(v.code == "E0642" and "is an input of the fused op, not intermed0" in v.message for v in second)


def test_broadcast_along_z(broken: Callable[..., list[Violation]]) -> None:
    found = broken("fused", (SUB, "input_1_tms: [broadcast: {z: 4}]"))
    assert any(v.code == "E0643" and "no broadcast along z" in v.message for v in found)


def test_what_becomes_of_negative_results(only: Callable[..., None]) -> None:
    changes = (
        ("attributes: {fused_op_id: 0}", "attributes: {fused_op_id: 0, relu_en: true}"),
        ("- twice: {type: add,", "- twice: {type: add, attributes: {relu_en: false},"),
    )
    only("fused", changes, "E0640", "op 'norm'", "relu_en is True, but False in sub-op 'twice'")


def test_integers_inside(broken: Callable[..., list[Violation]]) -> None:
    found = broken("fused", ("      acc_df: Float16_b\n", "      acc_df: Int32\n"))
    assert [(v.code, v.message) for v in found] == [
        ("E0626", "fused op '0' accumulates in Int32, in which its sub-op 'mean' cannot compute matmul"),
        ("E0626", "fused op '0' accumulates in Int32, in which its sub-op 'root' cannot compute sqrt"),
        ("E0626", "its last sub-op is add: it makes Int8 or Int32, not Float16_b"),
    ]

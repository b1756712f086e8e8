"""From nodes to values."""

from __future__ import annotations

import math

import pytest

from ttc.dialects.netlist.buda.document import Node, Table, read_document
from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.buda.reader_values import (
    MAX_DEVICES,
    Convert,
    addresses,
    at_least,
    attributes,
    boolean,
    choice,
    float_of,
    forks,
    integer,
    integer_of,
    list_of,
    number,
    one_or_more,
    pad,
    pair_of,
    plain,
    text,
    tms,
    unpad,
)


def node(written: str) -> Node:
    root = read_document(f"x: {written}".encode()).root
    assert isinstance(root, Table)
    return root.values["x"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("0x1F", 31),
        ("0X1f", 31),
        ("010", 8),
        ("09", 9),
        ("0", 0),
        ("-0x10", -16),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("1.0", None),
        ("1e3", None),
        ("0x", None),
        ("1_000", None),
        ("abc", None),
        ("", None),
        ("٣", None),
    ],
)
def test_integers(written: str, value: int | None) -> None:
    assert integer_of(written) == value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("1e-3", 0.001),
        ("2.", 2.0),
        ("7", 7.0),
        ("0x10", 16.0),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("inf", None),
        ("nan", None),
        ("1.2.3", None),
        ("1e99999", None),
        ("", None),
    ],
)
def test_floats(written: str, value: float | None) -> None:
    assert float_of(written) == value


def test_not_a_number() -> None:
    assert math.isnan(float_of(".nan") or 0.0)


@pytest.mark.parametrize(
    ("written", "value"), [("true", True), ("True", True), ("YES", True), ("on", True), ("False", False), ("no", False), ("n", False)]
)
def test_booleans(written: str, value: bool) -> None:
    assert boolean(node(written)) is value


@pytest.mark.parametrize(
    ("convert", "written", "value"),
    [
        (text, "abc", "abc"),
        (text, "17", "17"),
        (number, "0.25", 0.25),
        (at_least(0), "0", 0),
        (choice("r", "c"), "r", "r"),
        (pair_of(integer), "[1, 0x2]", (1, 2)),
        (list_of(text), "[a, 1]", ("a", "1")),
        (one_or_more(integer), "3", (3,)),
        (one_or_more(integer), "[3, 4]", (3, 4)),
        (addresses, "[[0, 0x20], [1, 64]]", ((0, 32), (1, 64))),
        (addresses, "[0x20, 64]", ((0, 32), (0, 64))),
        (
            attributes,
            "{m_k: 2, vector: r, bias: true, slope: 0.5, input0: [0, 1, 2], kernel_broadcast: {input_1: 3}}",
            {"m_k": 2, "vector": "r", "bias": True, "slope": 0.5, "input0": (0, 1, 2), "kernel_broadcast": (("input_1", 3),)},
        ),
        (forks, "[{q: a}, {r: b}]", (("q", "a"), ("r", "b"))),
        (pad, "{rt: 1, ct: 2, pad_value: -0.5}", (1, 2, -0.5)),
        (pad, "{ct: 2}", (0, 2, 0.0)),
        (unpad, "{rt: 1, ct: 2}", (1, 2)),
        (tms, "~", ()),
        (tms, "[]", ()),
        (
            tms,
            "[transpose, broadcast: {r: 4}, hslice: 2, {vstack: 3}, pad: [1, 2, 0.5], tile_broadcast: rc, hstack: 0]",
            (
                Tm("transpose"),
                Tm("broadcast", ("r", 4)),
                Tm("hslice", (2,)),
                Tm("vstack", (3,)),
                Tm("pad", (1, 2, 0.5)),
                Tm("tile_broadcast", ("rc",)),
                Tm("hstack", (0,)),
            ),
        ),
        (plain, "[1, 1.5, yes, 'yes', y, ~, {a: [b]}]", (1, 1.5, True, "yes", "y", None, (("a", ("b",)),))),
    ],
)
def test_values(convert: Convert, written: str, value: object) -> None:
    assert convert(node(written)) == value


@pytest.mark.parametrize(
    ("convert", "written", "message"),
    [
        (text, "[a]", r"takes a text, not \[.a.\]"),
        (text, "~", "takes a text, not nothing"),
        (integer, "1.5", "takes an integer, not '1.5'"),
        (integer, "{a: 1}", "takes an integer, not a map"),
        (at_least(1), "0", "is at least 1, not 0"),
        (at_least(1), "4294967296", "is at most 2147483648"),
        (boolean, "perhaps", "true or false, not 'perhaps'"),
        (number, "x", "takes a number"),
        (choice("dram", "host"), "drum", "cannot be 'drum'; did you mean 'dram'"),
        (choice("r", "c"), "[r]", r"cannot be \['r'\]: it is one of r, c"),
        (pair_of(integer), "[1]", "two integers"),
        (pair_of(integer), "3", "two integers"),
        (one_or_more(integer), "[]", "1 to 256 values"),
        (one_or_more(integer), str([1] * (MAX_DEVICES + 1)), "1 to 256 values"),
        (addresses, "[[0]]", "two integers"),
        (attributes, "{}", "at least one attribute"),
        (attributes, "[a]", "takes a map"),
        (pad, "{rt: -1}", "is at least 0"),
        (unpad, "{rt: 1, pad_value: 2}", "has no field 'pad_value'"),
        (tms, "transpose", "takes a list"),
        (tms, "[flip]", "is no tile manipulation without arguments"),
        (tms, "[hslise: 2]", "no tile manipulation 'hslise'; did you mean 'hslice'"),
        (tms, "[hslice: 0]", "is at least 1"),
        (tms, "[broadcast: {r: 2, c: 3}]", "names one dimension"),
        (tms, "[broadcast: {x: 2}]", "names one dimension"),
        (tms, "[broadcast: 2]", "takes a map"),
        (tms, "[pad: [1, 2]]", r"takes \[rt, ct, value\]"),
        (tms, "[tile_broadcast: z]", "known: c, r, rc"),
    ],
)
def test_what_a_field_takes(convert: Convert, written: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert(node(written))

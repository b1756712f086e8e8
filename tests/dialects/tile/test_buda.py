"""What is in the vocabulary of Buda netlists."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.tile.vocabulary import one_op
from tests.passes.tiles import parse
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.tile.base import ops
from ttc.dialects.tile.buda import FUNCTIONS, OPS, foreign, is_epilogue

REFERENCE = frozenset(
    "matmul add subtract multiply maximum nop datacopy exp log sqrt gelu gelu_derivative reciprocal sigmoid dropout tanh square power sine "
    "cosine lrelu abs reduce splice depthwise embedding tilizer topk fused_op relu".split()
)
"""Types of ops (and relu, an attribute) of the format."""


def verdict(name: str, operands: list[str], result: str, attrs: dict[str, Any], absent: int = 0) -> str | None:
    """What `foreign` says of one op."""
    (function,) = entry_functions(parse(one_op(name, operands, result, attrs, absent)).module)
    return foreign(next(iter(function.body.block.ops)))


def test_the_tables_name_ops_of_the_format() -> None:
    assert {*OPS.values(), *FUNCTIONS.values()} - {""} <= REFERENCE
    assert OPS.keys() <= ops().keys()


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ({"fn": "exp"}, None),
        ({"fn": "erf"}, "function erf"),
        ({"fn": "clip", "names": ("min", "max"), "values": (0.0, 6.0)}, None),
        ({"fn": "clip", "names": ("min", "max"), "values": (-1.0, 6.0)}, "function clip"),
        ({"fn": "clip", "names": ("min",), "values": (0.0,)}, "function clip"),
        ({"fn": "gelu", "names": ("approximate",), "values": ("tanh",)}, None),
        ({"fn": "gelu", "names": ("approximate",), "values": ("none",)}, "function gelu"),
    ],
)
def test_functions(attrs: dict[str, Any], expected: str | None) -> None:
    assert verdict("tile.map", ["Float32[4, 8]"], "Float32[4, 8]", attrs) == expected


@pytest.mark.parametrize(
    ("type_", "fn", "axis", "expected"),
    [
        ("Float32[2, 4, 8]", "max", 2, None),
        ("Float32[2, 4, 8]", "max", 0, None),
        ("Float32[2, 4, 8]", "sum", 2, "a sum over dimensions [2]"),
        ("Float32[2, 2, 4, 8]", "max", 0, "a max over dimensions [0]"),
        ("Float32[2, 4, 8; 2]", "max", 2, "a max over dimensions [2]"),
    ],
)
def test_reductions(type_: str, fn: str, axis: int, expected: str | None) -> None:
    shape, _, fold = type_.removeprefix("Float32[").rstrip("]").partition(";")
    sizes = [1 if i == axis else int(d) for i, d in enumerate(shape.split(","))]
    result = f"Float32[{', '.join(map(str, sizes))}{';' + fold if fold else ''}]"
    assert verdict("tile.reduce", [type_], result, {"fn": fn, "axes": (axis,), "keepdims": True}) == expected


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ({}, None),
        ({"activation": "relu"}, None),
        ({"activation": "gelu"}, "activation gelu"),
        ({"transpose_b": True}, None),
        ({"transpose_a": True}, "a transposed left operand"),
    ],
)
def test_products(attrs: dict[str, Any], expected: str | None) -> None:
    given = {"transpose_a": False, "transpose_b": False} | attrs
    assert verdict("tile.matmul", ["Float32[8, 8]", "Float32[8, 8]"], "Float32[8, 8]", given, 1) == expected


def test_tile_manipulations() -> None:
    assert verdict("tile.reshape", ["Float32[2, 32, 64]"], "Float32[64, 64]", {"shape": (64, 64)}) is None
    assert verdict("tile.reshape", ["Float32[2, 31, 64]"], "Float32[62, 64]", {"shape": (62, 64)}) == "tile.reshape"
    assert verdict("tile.concat", ["Float32[2, 31, 64]"], "Float32[2, 31, 64]", {"axis": 0}) is None
    assert verdict("tile.concat", ["Float32[2, 31, 64]"], "Float32[2, 31, 64]", {"axis": 2}) == "a concatenation within matrices"


@pytest.mark.parametrize(
    ("activation", "args", "expected"),
    [
        (None, (), True),
        ("relu", (), True),
        ("clip", (0.0, 6.0), True),
        ("clip", (0.0,), False),
        ("clip", (1.0, 6.0), False),
        ("tanh", (), False),
    ],
)
def test_epilogues(activation: str | None, args: tuple[float, ...], expected: bool) -> None:
    assert is_epilogue(activation, args) is expected

"""Rearrangements that are no tile manipulations."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from tests.passes.tile.vocabulary import expand, one_op


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("4, 4, 8; 2", "128"),
        ("1, 4, 4, 8; 3", "1, 128"),
        ("128", "2, 64"),
        ("2, 3, 20", "2, 60"),
        ("2, 60", "2, 3, 20"),
        ("6, 10", "4, 15"),
        ("2, 6, 10", "2, 2, 30; 2"),
        ("3, 64", "6, 32"),
        ("6, 32", "3, 64"),
        ("12, 7, 5", "84, 5"),
        ("1, 1", "1"),
        ("5, 1", "5"),
    ],
)
def test_reshape(old: str, new: str) -> None:
    shape = tuple(int(d) for d in new.partition(";")[0].split(","))
    expand(one_op("tile.reshape", [f"Float32[{old}]"], f"Float32[{new}]", {"shape": shape}), 0)


@pytest.mark.parametrize(("old", "new"), [("2, 3, 4, 5; 3", "2, 3, 4, 5; 1"), ("2, 3, 4, 5; 1", "2, 3, 4, 5; 2")])
def test_relayout(old: str, new: str) -> None:
    outcome = expand(f"(%x: Float32[{old}])\n%y = tile.relayout(%x) : (Float32[{old}]) -> Float32[{new}]\nreturn %y : Float32[{new}]", 0)
    assert outcome.names() == ["tile.sparse_matmul"]


@pytest.mark.parametrize(
    ("old", "perm", "new"),
    [
        ("1, 3, 4, 5", (0, 2, 3, 1), "1, 4, 5, 3; 3"),
        ("2, 4, 5, 3; 3", (0, 3, 1, 2), "2, 3, 4, 5"),
        ("2, 3, 4, 5", (1, 0, 3, 2), "3, 2, 5, 4; 2"),
        ("2, 3, 4, 5", (3, 2, 1, 0), "5, 4, 3, 2"),
        ("2, 3, 4, 5", (0, 2, 1, 3), "2, 4, 3, 5"),
        ("4, 5; 1", (1, 0), "5, 4"),
        ("2, 4, 5; 2", (0, 2, 1), "2, 5, 4; 2"),
    ],
)
def test_transpose(old: str, perm: tuple[int, ...], new: str) -> None:
    expand(one_op("tile.transpose", [f"Float32[{old}]"], f"Float32[{new}]", {"perm": perm}), 0)


@pytest.mark.parametrize(
    ("starts", "sizes", "steps"),
    [
        ((0, 1, 0), (2, 4, 7), (1, 1, 1)),
        ((1, 5, 6), (1, 3, 4), (1, -2, -1)),
        ((0, 0, 3), (2, 6, 2), (1, 1, 2)),
        ((0, 0, 0), (2, 6, 1), (1, 1, 1)),
    ],
)
@pytest.mark.parametrize("fold", [1, 2])
def test_slice(starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...], fold: int) -> None:
    result = f"Float32[{', '.join(map(str, sizes))}; {fold}]"
    expand(one_op("tile.slice", [f"Float32[2, 6, 7; {fold}]"], result, {"starts": starts, "sizes": sizes, "steps": steps}), 0)


@pytest.mark.parametrize("value", [0.0, 1.5, -inf, inf, -3.4e38])
@pytest.mark.parametrize(
    ("before", "after", "result"),
    [((0, 1, 0), (0, 2, 0), "2, 6, 4"), ((1, 0, 2), (0, 1, 3), "3, 4, 9"), ((0, 0, 1), (0, 0, 0), "2, 3, 5")],
)
def test_pad(before: tuple[int, ...], after: tuple[int, ...], result: str, value: float) -> None:
    attrs = {"before": before, "after": after, "value": value}
    expand(one_op("tile.pad", ["Float32[2, 3, 4; 2]"], f"Float32[{result}; 2]", attrs), 0)


@pytest.mark.parametrize(
    ("operands", "axis", "result"),
    [
        (["1, 5", "2, 5", "3, 5"], 0, "6, 5"),
        (["2, 1, 5; 2", "2, 3, 5; 2"], 1, "2, 4, 5; 2"),
        (["2, 3, 5; 2", "2, 3, 4; 1"], -1, "2, 3, 9; 2"),
        (["2, 3, 64; 2", "2, 3, 32; 2"], 2, "2, 3, 96; 2"),
        (["2, 3, 64", "2, 3, 32"], 2, "2, 3, 96"),
    ],
)
@pytest.mark.parametrize("format_", ["Float32", "Int32"])
def test_concat(operands: list[str], axis: int, result: str, format_: str) -> None:
    expand(one_op("tile.concat", [f"{format_}[{x}]" for x in operands], f"{format_}[{result}]", {"axis": axis}), 0)


def test_columns_of_tiles_are_spliced() -> None:
    outcome = expand(one_op("tile.concat", ["Float32[32, 64]", "Float32[32, 32]"], "Float32[32, 96]", {"axis": 1}), 0)
    assert "tile.sparse_matmul" not in outcome.names()
    assert outcome.names().count("tile.concat") == 1


@pytest.mark.parametrize(
    ("old", "new"), [("3, 1, 5", "2, 3, 4, 5"), ("3, 1, 1", "3, 4, 6; 2"), ("5", "3, 5"), ("2, 3, 1; 2", "2, 3, 7; 2")]
)
def test_broadcast(old: str, new: str) -> None:
    shape = tuple(int(d) for d in new.partition(";")[0].split(","))
    expand(one_op("tile.broadcast", [f"Float32[{old}]"], f"Float32[{new}]", {"shape": shape}), 0)


@pytest.mark.parametrize(
    ("name", "old", "attrs", "new"),
    [
        ("tile.hslice", "2, 7, 12", {"n": 3}, "2, 3, 7, 4"),
        ("tile.hslice", "2, 7, 96; 2", {"n": 3}, "2, 3, 7, 32"),
        ("tile.hstack", "2, 3, 7, 4", {"n": 3}, "2, 7, 12"),
        ("tile.hstack", "2, 3, 7, 4; 3", {"n": 3}, "2, 7, 12; 2"),
    ],
)
def test_heads(name: str, old: str, attrs: dict[str, Any], new: str) -> None:
    expand(one_op(name, [f"Float32[{old}]"], f"Float32[{new}]", attrs), 0)

"""Casts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.tile.vocabulary import expand, one_op
from tests.passes.tiles import check_numbers, parse

VALUES = np.array([0.0, 0.4, -0.6, 2.5, -2.5, 7.0, -1e4, 1.99], np.float32)


@pytest.mark.parametrize(("to", "result"), [("int32", "Int32"), ("int64", "Int32"), ("bool", "UInt8"), ("float32", "Float16_b")])
def test_casts_of_floats(to: str, result: str) -> None:
    text = one_op("tile.cast", ["Float32[8]"], f"{result}[8]", {"to": to})
    check_numbers(parse(text), expand(text).unit, 0, [VALUES])


@pytest.mark.parametrize(("to", "result"), [("float32", "Float32"), ("bool", "UInt8"), ("int64", "Int32")])
def test_casts_of_integers(to: str, result: str) -> None:
    text = one_op("tile.cast", ["Int32[8]"], f"{result}[8]", {"to": to})
    check_numbers(parse(text), expand(text).unit, 0, [np.array([0, 1, -1, 5, -7, 100, 0, 2], np.int32)])

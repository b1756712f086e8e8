"""Checks that tests of tile ops share: one op from arrays through IR, text and the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects import builtin

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import Port, entry_functions, finish_function, make_function
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain import interpret
from ttc.dialects.tile.base import Tile, TileOp, dialect, tile_type


def run_op(
    kind: type[TileOp],
    arrays: Sequence[NDArray | None],
    attrs: dict[str, Any],
    format: str | None = None,
    fold: int | None = None,
    result: int = 0,
) -> NDArray:
    """A result of one op on tiles of 32 x 32, through verification, a text round trip and the interpreter."""
    types = [None if x is None else tile_type(Tile((), format_of(x.dtype).name, (32, 32)).shaped(x.shape)) for x in arrays]
    function = make_function("main", [(Port(f"x{i}"), t) for i, t in enumerate(types) if t is not None])
    arguments = iter(function.body.block.args)
    operands = [None if t is None else next(arguments) for t in types]
    op = kind.build(*operands, location=named_location("/node"), format=format, fold=fold, **attrs)
    function.body.block.add_op(op)
    finish_function(function, [(Port("y"), op.results[result])])
    module = builtin.ModuleOp([function])
    verify(module)
    text = print_op(module)
    again = parse_module(text, "round trip", [dialect])
    verify(again)
    assert print_op(again) == text
    (copy,) = entry_functions(again)
    inputs = [x.astype(format_of(x.dtype).compute) for x in arrays if x is not None]
    (found,) = interpret.run(plain_block(copy.body.block), inputs)
    return found


def check_op(
    kind: type[TileOp],
    arrays: Sequence[NDArray | None],
    attrs: dict[str, Any],
    expected: NDArray,
    tolerance: float = 0.0,
    format: str | None = None,
    result: int = 0,
) -> None:
    """A result of the op equals `expected` in shape, dtype and values, max abs difference at most `tolerance`; NaN equals NaN."""
    found = run_op(kind, arrays, attrs, format, result=result)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=0, atol=tolerance)


def check_error(kind: type[TileOp], shapes: Sequence[tuple[int, ...] | None], attrs: dict[str, Any], code: str) -> None:
    """Building the op on tiles of these shapes fails with that code, at the op's place."""
    types = [None if s is None else tile_type(Tile(s, "Float32", (32, 32))) for s in shapes]
    function = make_function("main", [(Port(f"x{i}"), t) for i, t in enumerate(types) if t is not None])
    arguments = iter(function.body.block.args)
    with pytest.raises(Error) as error:
        kind.build(*[None if t is None else next(arguments) for t in types], location=named_location("/node"), **attrs)
    assert error.value.code == code
    assert error.value.where == "/node"

"""Which matrices of one number are written out."""

from __future__ import annotations

import pytest

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.exporters.buda.literals import matrix_of, written_out

LAYOUT = "tiles(32, 32)"


def tile(*shape: int) -> TensorType:
    return TensorType(shape, "Float32", LAYOUT)


def function(shape: tuple[int, int], reader: str, x: TensorType, result: TensorType) -> Function:
    """A literal repeated to a shape, that an op reads beside an input."""
    return Function(
        (x,),
        (
            Work("ttc.constant", (), {"values": (2.0,)}, (tile(),)),
            Work("tile.broadcast", (1,), {"shape": shape}, (tile(*shape),)),
            Work(f"tile.{reader}", (0, 2), {"fn": "mul"} if reader == "map" else {}, (result,)),
        ),
        (3,),
    )


@pytest.mark.parametrize(
    ("shape", "reader", "x", "result", "written"),
    [
        ((40, 1), "matmul", tile(64, 40), tile(64, 1), True),
        ((64, 1), "matmul", tile(64, 64), tile(64, 1), False),
        ((1, 40), "map", tile(64, 40), tile(64, 40), True),
        ((1, 64), "map", tile(40, 64), tile(40, 64), False),
        ((40, 1), "map", tile(40, 64), tile(40, 64), True),
    ],
)
def test_matrices_that_end_within_a_tile(shape: tuple[int, int], reader: str, x: TensorType, result: TensorType, written: bool) -> None:
    found = written_out(function(shape, reader, x, result)).works[1]
    assert (found.op == "ttc.constant") == written
    if written:
        assert found.attrs["values"] == (2.0,) * (shape[0] * shape[1])


def test_matrices_of_folded_dimensions() -> None:
    assert matrix_of(TensorType((2, 3, 5, 7), "Float32", "tiles(32, 32, 2)")) == (2, 15, 7)
    assert matrix_of(TensorType((7,), "Float32", LAYOUT)) == (1, 1, 7)

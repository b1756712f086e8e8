"""The tile type, and the dialect as a whole."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.core.shapes import require_broadcastable
from ttc.dialects.tile.base import Tile, dialect, ops, tile_type


@pytest.mark.parametrize(
    ("shape", "fold", "matrix", "tiles"),
    [
        ((), 1, (1, 1, 1), (1, 1, 1)),
        ((5,), 1, (1, 1, 5), (1, 1, 1)),
        ((33, 64), 1, (1, 33, 64), (1, 2, 2)),
        ((2, 50, 65), 1, (2, 50, 65), (2, 2, 3)),
        ((2, 50, 65), 2, (1, 100, 65), (1, 4, 3)),
        ((2, 7, 7, 32), 3, (1, 98, 32), (1, 4, 1)),
        ((2, 3, 7, 32), 1, (6, 7, 32), (6, 1, 1)),
    ],
)
def test_dimensions_fold_into_rows(shape: tuple[int, ...], fold: int, matrix: tuple[int, ...], tiles: tuple[int, ...]) -> None:
    tile = Tile(shape, "Float32", (32, 32), fold)
    assert tile.matrix() == matrix
    assert tile.tile_dims() == tiles


def test_row_layout_has_no_tiles() -> None:
    with pytest.raises(Error) as error:
        Tile((2, 3), "Float32").tile_dims()
    assert error.value.code == "E0302"


def test_another_shape_takes_the_nearest_fold() -> None:
    assert Tile((2, 7, 7, 32), "Float32", (32, 32), 3).shaped((98, 32)) == Tile((98, 32), "Float32", (32, 32), 1)
    assert Tile((2, 7, 7, 32), "Float32", (32, 32), 3).shaped((14, 7, 32)).fold == 2
    assert Tile((2, 7, 7, 32), "Float32", None, 3).shaped((2, 7, 7, 32)).fold == 1


@pytest.mark.parametrize("tile", [Tile((), "Int32"), Tile((1, 2), "Float16_b", (32, 32)), Tile((2, 3, 4), "Bool", (16, 32), 2)])
def test_types_round_trip_through_text(tile: Tile) -> None:
    text = f"func.func private @f({tile_type(tile)}) -> ()"
    module = parse_module(text, "types", [dialect])
    (function,) = module.ops
    assert function.properties["function_type"].inputs.data == (tile_type(tile),)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("type_", ['<"2xFloat99", "rows">', '<"-1xFloat32", "rows">', '<"2xFloat32", "tiles(32)">', '<"2x3", "rows">'])
def test_malformed_types_do_not_parse(type_: str) -> None:
    with pytest.raises(Error) as error:
        parse_module(f"func.func private @f(!tile.tensor{type_}) -> ()", "types", [dialect])
    assert error.value.code == "E0301"


def test_operands_may_not_enlarge_a_result() -> None:
    require_broadcastable(None, (2, 3))
    require_broadcastable((3,), (2, 3))
    with pytest.raises(Error) as error:
        require_broadcastable((4, 2, 3), (2, 3))
    assert error.value.code == "E0401"


@pytest.mark.parametrize("mnemonic", sorted(ops().keys() - {"eltwise", "yield"}))
def test_every_op_has_a_kernel(mnemonic: str) -> None:
    assert callable(kernel(f"tile.{mnemonic}"))


@pytest.mark.parametrize("mnemonic", sorted(ops()))
def test_every_op_says_what_it_computes(mnemonic: str) -> None:
    text = ops()[mnemonic].__doc__ or ""
    assert "Args:" in text
    assert "Returns:" in text or mnemonic == "yield"

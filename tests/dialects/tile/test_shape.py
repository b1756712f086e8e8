"""Which instances of views are tile manipulations."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block

from ttc.dialects.tile.base import Tile, TileOp, tile_type
from ttc.dialects.tile.linear import MatmulOp
from ttc.dialects.tile.shape import (
    BroadcastOp,
    HsliceOp,
    HstackOp,
    PadOp,
    RelayoutOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    is_view,
)

Case = tuple[type[TileOp], tuple[int, ...], int, int, dict[str, Any]]

VIEWS: list[Case] = [
    (ReshapeOp, (2, 64, 96), 1, 1, {"shape": (1, 2, 64, 96)}),  # unit dimensions
    (ReshapeOp, (2, 64, 96), 1, 1, {"shape": (128, 96)}),  # vstack
    (ReshapeOp, (128, 96), 1, 1, {"shape": (4, 32, 96)}),  # vslice
    (ReshapeOp, (2, 7, 7, 64), 3, 2, {"shape": (2, 49, 64)}),  # the same rows
    (TransposeOp, (3, 40, 70), 1, 1, {"perm": (0, 2, 1)}),
    (TransposeOp, (1, 1, 40, 70), 1, 1, {"perm": (1, 0, 2, 3)}),  # only unit dimensions move
    (HsliceOp, (2, 40, 128), 1, 1, {"n": 4}),
    (HsliceOp, (2, 64, 128), 2, 1, {"n": 2}),  # folded rows are whole tiles
    (HstackOp, (2, 4, 40, 32), 1, 1, {"n": 4}),
    (BroadcastOp, (1, 1, 40), 1, 1, {"shape": (2, 70, 40)}),
    (BroadcastOp, (2, 40, 1), 1, 1, {"shape": (2, 40, 64)}),
    (BroadcastOp, (1, 32, 64), 1, 2, {"shape": (5, 32, 64)}),  # whole tiles of rows repeat
    (SliceOp, (2, 40), 1, 1, {"starts": (0, 0), "sizes": (2, 40), "steps": (1, 1)}),
    (RelayoutOp, (2, 64, 40), 1, 2, {}),
]

MOVES: list[Case] = [
    (ReshapeOp, (2, 50, 96), 1, 1, {"shape": (100, 96)}),
    (ReshapeOp, (64, 128), 1, 1, {"shape": (64, 4, 32)}),
    (TransposeOp, (64, 32, 64), 1, 1, {"perm": (1, 0, 2)}),
    (TransposeOp, (3, 40, 70), 2, 2, {"perm": (0, 2, 1)}),
    (HsliceOp, (2, 40, 96), 1, 1, {"n": 2}),  # parts of one and a half tiles
    (HsliceOp, (2, 40, 128), 2, 1, {"n": 2}),  # folded rows cross tiles
    (HstackOp, (2, 4, 40, 16), 1, 1, {"n": 4}),
    (BroadcastOp, (2, 1, 40, 40), 1, 1, {"shape": (2, 3, 40, 40)}),  # repeats inside
    (BroadcastOp, (1, 20, 64), 1, 2, {"shape": (5, 20, 64)}),
    (SliceOp, (2, 40), 1, 1, {"starts": (0, 0), "sizes": (2, 20), "steps": (1, 1)}),
    (SliceOp, (2, 40), 1, 1, {"starts": (1, 0), "sizes": (2, 40), "steps": (-1, 1)}),
    (PadOp, (2, 40), 1, 1, {"before": (0, 0), "after": (0, 0), "value": 0.0}),
    (RelayoutOp, (2, 50, 40), 1, 2, {}),
]


def build(case: Case, tile: tuple[int, int] | None) -> TileOp:
    kind, shape, fold, result_fold, attrs = case
    block = Block(arg_types=[tile_type(Tile(shape, "Float32", tile, fold))])
    return kind.build(block.args[0], location=UnknownLoc(), fold=result_fold, **attrs)


@pytest.mark.parametrize("case", VIEWS, ids=lambda c: f"{c[0].name}{c[1]}-{c[3]}")
def test_aligned_instances_are_views(case: Case) -> None:
    assert is_view(build(case, (32, 32)))


@pytest.mark.parametrize("case", MOVES, ids=lambda c: f"{c[0].name}{c[1]}-{c[3]}")
def test_other_instances_move_data(case: Case) -> None:
    assert not is_view(build(case, (32, 32)))


@pytest.mark.parametrize("case", [c for c in (*VIEWS, *MOVES) if c[0] is not PadOp], ids=lambda c: f"{c[0].name}{c[1]}-{c[3]}")
def test_in_row_layout_strides_suffice(case: Case) -> None:
    assert is_view(build(case, None))


def test_padding_and_arithmetic_are_no_views() -> None:
    assert not is_view(build((PadOp, (2, 3), 1, 1, {"before": (0, 0), "after": (0, 0), "value": 0.0}), None))
    block = Block(arg_types=[tile_type(Tile((32, 32), "Float32"))])
    x = block.args[0]
    assert not is_view(MatmulOp.build(x, x, None, location=UnknownLoc(), transpose_a=False, transpose_b=False))

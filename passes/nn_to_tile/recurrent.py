"""Lowering of recurrent layers; those of few steps nn passes have written out."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.recurrent import GruOp, LstmOp, RnnOp
from ttc.dialects.tile import recurrent as tile
from ttc.dialects.tile.base import TileOp
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows


def lower_rnn(op: RnnOp, low: Lowering) -> Sequence[SSAValue]:
    """Lower nn.rnn to tile.rnn, its operands in row layout."""
    return _layer(op, tile.RnnOp, low)


def lower_gru(op: GruOp, low: Lowering) -> Sequence[SSAValue]:
    """Lower nn.gru to tile.gru, its operands in row layout."""
    return _layer(op, tile.GruOp, low)


def lower_lstm(op: LstmOp, low: Lowering) -> Sequence[SSAValue]:
    """Lower nn.lstm to tile.lstm, its operands in row layout."""
    return _layer(op, tile.LstmOp, low)


def _layer(op: NNOp, kind: type[TileOp], low: Lowering) -> Sequence[SSAValue]:
    return in_rows(op, kind, low).owner.results  # pyright: ignore[reportAttributeAccessIssue] - an op gives the value

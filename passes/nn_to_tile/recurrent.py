"""Lowering of recurrent layers; those of few steps nn passes have written out."""

from __future__ import annotations

from ttc.dialects.tile import recurrent as tile
from ttc.passes.nn_to_tile.rows import same_in_rows

same_in_rows(tile.RnnOp)
same_in_rows(tile.GruOp)
same_in_rows(tile.LstmOp)

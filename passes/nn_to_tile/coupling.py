"""Lowering of probabilities of classes from those of pairs of them."""

from __future__ import annotations

from ttc.dialects.tile import coupling as tile
from ttc.passes.nn_to_tile.rows import same_in_rows

same_in_rows(tile.CoupleProbabilitiesOp)

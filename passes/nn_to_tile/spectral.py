"""Lowering of Fourier transforms; short ones nn passes have expressed by products for targets with tiles."""

from __future__ import annotations

from ttc.dialects.tile import spectral as tile
from ttc.passes.nn_to_tile.rows import same_in_rows

same_in_rows(tile.FftOp)
same_in_rows(tile.IrfftOp)

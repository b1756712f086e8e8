"""Lowering of Fourier transforms; short ones nn passes have expressed by products for targets with tiles."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ttc.dialects.nn.spectral import FftOp, IrfftOp
from ttc.dialects.tile import spectral as tile
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows


def lower_fft(op: FftOp, low: Lowering) -> Sequence[SSAValue]:
    """Lower nn.fft to tile.fft, in row layout."""
    return in_rows(op, tile.FftOp, low).owner.results  # pyright: ignore[reportAttributeAccessIssue] - an op gives the value


def lower_irfft(op: IrfftOp, low: Lowering) -> SSAValue:
    """Lower nn.irfft to tile.irfft, in row layout."""
    return in_rows(op, tile.IrfftOp, low)

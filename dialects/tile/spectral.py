"""Discrete Fourier transforms.  Complex numbers are pairs of tiles: real and imaginary parts."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp


class _Spectral(SharedOp):
    real = operand_def(TILE)
    imaginary = opt_operand_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class FftOp(_Spectral):
    """Discrete Fourier transform: y[k] = sum over n of x[n] exp(-2 pi i k n / size), the inverse sum x[n] exp(2 pi i k n / size) / size.

    Args:    real: tile[..., d_axis, ...]: real parts of x.  imaginary: tile of that shape; absent: 0.  axis: along which x is transformed.
             size: elements of x along the axis: what is beyond is cut, what lacks is 0.  inverse: or the transform itself.
             onesided: only the size // 2 + 1 first elements of y.
    Returns: y_real, y_imaginary: tile[..., size or size // 2 + 1, ...].
    Raises:  E0412 if axis is outside the rank, E0401 if the parts differ in shape or nothing is along the axis, E0402 for a size below 1.
    """

    name = "tile.fft"
    y_real = result_def(TILE)
    y_imaginary = result_def(TILE)


@irdl_op_definition
class IrfftOp(_Spectral):
    """Real numbers y whose discrete Fourier transform begins with x, and goes on with x's mirror image, conjugated.

    Args:    real: tile[..., d_axis, ...]: real parts of x.  imaginary: tile of that shape; absent: 0.  axis: along which x is transformed.
             size: elements of y; of x the first size // 2 + 1 are read, and those that lack are 0.
    Returns: y: tile[..., size, ...].
    Raises:  as tile.fft.
    """

    name = "tile.irfft"
    y = result_def(TILE)

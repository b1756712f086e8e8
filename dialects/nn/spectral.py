"""Discrete Fourier transforms.  Complex numbers are pairs of tensors: real and imaginary parts."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ttc.dialects.core.ir.attributes import BOOL, INT
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import TENSOR, NNOp, require_float, same_dtype
from ttc.dialects.nn.shapes import spectral as shapes


class SpectralOp(NNOp):
    """The base of transforms along one axis, whose elements are cut or padded with 0."""

    real = operand_def(TENSOR)
    imaginary = opt_operand_def(TENSOR)
    axis = prop_def(INT)
    size = prop_def(INT)


@irdl_op_definition
class FftOp(SpectralOp):
    """Discrete Fourier transform: y[k] = sum over n of x[n] exp(-2 pi i k n / size), the inverse sum x[n] exp(2 pi i k n / size) / size.

    Args:    real: tensor[..., d_axis, ...], floating point: real parts of x.  imaginary: of the same type; absent: 0.
             axis: in [-rank, rank).  size: elements of x along the axis: what is beyond is cut, what lacks is 0.
             inverse: or the transform itself.  onesided: only the size // 2 + 1 first elements of y.
    Returns: y_real, y_imaginary: tensor[..., size or size // 2 + 1, ...], real's dtype.
    Raises:  E0412 if axis is outside the rank, E0401 if the parts differ in shape or nothing is along the axis, E0402 for a size below 1,
             E0403 for integers or differing dtypes.
    Source:  ONNX DFT-20; torch.fft.fft, ifft, rfft; tf.signal.fft, ifft, rfft.
    """

    name = "nn.fft"
    inverse = prop_def(BOOL)
    onesided = prop_def(BOOL)
    y_real = result_def(TENSOR)
    y_imaginary = result_def(TENSOR)

    @classmethod
    def infer(cls, real: Spec, imaginary: Spec | None = None, *, axis: int, size: int, inverse: bool, onesided: bool) -> tuple[Spec, ...]:
        dtype, other = same_dtype(require_float(real), imaginary), None if imaginary is None else imaginary.shape
        found = shapes.fft(real.shape, other, axis=axis, size=size, inverse=inverse, onesided=onesided)
        return tuple(Spec(shape, dtype) for shape in found)


@irdl_op_definition
class IrfftOp(SpectralOp):
    """Real numbers y whose discrete Fourier transform begins with x, and goes on with x's mirror image, conjugated.

    Args:    real: tensor[..., d_axis, ...], floating point: real parts of x.  imaginary: of the same type; absent: 0.  Those of the first
             element, and of the last one of an even size, are not read.
             axis: in [-rank, rank).  size: elements of y; of x the first size // 2 + 1 are read, and those that lack are 0.
    Returns: y: tensor[..., size, ...], real's dtype.
    Raises:  as nn.fft.
    Source:  ONNX DFT-20 (inverse, one-sided); torch.fft.irfft; tf.signal.irfft.
    """

    name = "nn.irfft"
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, real: Spec, imaginary: Spec | None = None, *, axis: int, size: int) -> Spec:
        dtype, other = same_dtype(require_float(real), imaginary), None if imaginary is None else imaginary.shape
        return Spec(shapes.irfft(real.shape, other, axis=axis, size=size), dtype)

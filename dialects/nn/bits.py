"""Elementwise ops of nn on the bits of integers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition, prop_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import DTYPE
from ttc.dialects.core.ir.spec import Spec, element_type
from ttc.dialects.nn.elementwise import ANY, BinaryOp, UnaryOp, require_kind

INTEGERS = "iu"


@irdl_op_definition
class BitwiseAndOp(BinaryOp):
    """Conjunction of bits: y has the bits that both a and b have.

    Args:    a, b: tensor[...], integers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX BitwiseAnd-18; torch.bitwise_and.
    """

    name = "nn.bitwise_and"
    KINDS: ClassVar[str] = INTEGERS


@irdl_op_definition
class BitwiseOrOp(BinaryOp):
    """Disjunction of bits: y has the bits that a or b has.

    Args:    a, b: tensor[...], integers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX BitwiseOr-18; torch.bitwise_or.
    """

    name = "nn.bitwise_or"
    KINDS: ClassVar[str] = INTEGERS


@irdl_op_definition
class BitwiseXorOp(BinaryOp):
    """Difference of bits: y has the bits that exactly one of a and b has.

    Args:    a, b: tensor[...], integers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX BitwiseXor-18; torch.bitwise_xor.
    """

    name = "nn.bitwise_xor"
    KINDS: ClassVar[str] = INTEGERS


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """Shift to higher bits: y = a * 2^b, without the bits that leave; 0 where b is negative or not below the width.

    Args:    a, b: tensor[...], integers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX BitShift-28, LEFT; torch.bitwise_left_shift.
    """

    name = "nn.shift_left"
    KINDS: ClassVar[str] = INTEGERS


@irdl_op_definition
class ShiftRightOp(BinaryOp):
    """Shift to lower bits: y = a / 2^b, rounded down; 0, or -1 for a negative a, where b is negative or not below the width.

    Args:    a, b: tensor[...], integers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX BitShift-28, RIGHT; torch.bitwise_right_shift.
    """

    name = "nn.shift_right"
    KINDS: ClassVar[str] = INTEGERS


@irdl_op_definition
class BitcastOp(UnaryOp):
    """Reinterpretation of elements: y has the bits of x, as another type of the same size.

    Args:    x: tensor[...], of dtype `source`.  dtype: of the result, as many bytes an element.
    Returns: y: shape of x.
    Raises:  E0402 if source is not x's dtype or the sizes differ, E0403 if tensors of the dtype do not exist.
    Source:  ONNX BitCast-26; torch.Tensor.view.
    """

    name = "nn.bitcast"
    source = prop_def(DTYPE)
    dtype = prop_def(DTYPE)

    @classmethod
    def infer(cls, x: Spec, *, source: np.dtype, dtype: np.dtype) -> Spec:
        if not isinstance(dtype, np.dtype):
            raise Error("E0403", f"tensors of {dtype} are not supported")
        element_type(dtype)
        if require_kind(x, ANY).dtype != source or dtype.itemsize != x.dtype.itemsize:
            raise Error("E0402", f"the bits of {x} are not those of {source}, or do not make up {dtype}")
        return Spec(x.shape, dtype)

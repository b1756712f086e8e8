"""Elementwise ops of two operands, and the choice between two."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.nn.base import TENSOR, same_dtype
from ttc.dialects.nn.elementwise import BOOL_TYPE, NUMERIC, WITH_TEXT, BinaryOp, CompareOp, ElementwiseOp, LogicOp, require_kind


@irdl_op_definition
class AddOp(BinaryOp):
    """Sum: y = a + b.  Integers wrap around.

    Args:    a, b: tensor[...], numbers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX Add-14; torch.add.
    """

    name = "nn.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """Difference: y = a - b.  Integers wrap around.

    Args:    a, b: tensor[...], numbers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX Sub-14; torch.sub.
    """

    name = "nn.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """Product: y = a * b.  Integers wrap around.

    Args:    a, b: tensor[...], numbers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX Mul-14; torch.mul.
    """

    name = "nn.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """Quotient: y = a / b.  Of integers: toward zero; 0 where b is 0.

    Args:    a, b: tensor[...], numbers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX Div-14; torch.div (integers: rounding_mode trunc).
    """

    name = "nn.div"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller: y = min(a, b); NaN if either is.

    Args:    a, b: tensor[...], numbers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX Min-13 of two; torch.minimum.
    """

    name = "nn.minimum"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger: y = max(a, b); NaN if either is.

    Args:    a, b: tensor[...], numbers of one dtype; broadcast as numpy does.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX Max-13 of two; torch.maximum.
    """

    name = "nn.maximum"


@irdl_op_definition
class PowOp(ElementwiseOp):
    """Power: y = a^b.  Between integers a result that is not whole is cut toward zero.

    Args:    a, b: tensor[...], numbers, of dtypes that may differ; broadcast as numpy does.
    Returns: y: the broadcast shape, a's dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for bool.
    Source:  ONNX Pow-15; torch.pow.
    """

    name = "nn.pow"
    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, a: Spec, b: Spec) -> Spec:
        return Spec(broadcast_shapes(a.shape, require_kind(b, NUMERIC).shape), require_kind(a, NUMERIC).dtype)


@irdl_op_definition
class ModOp(BinaryOp):
    """Remainder of a / b, with the sign of b, or with fmod that of a; of integers 0 where b is 0.

    Args:    a, b: tensor[...], numbers of one dtype; broadcast as numpy does.  fmod: whether the sign is a's.
    Returns: y: the broadcast shape, the operands' dtype.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another or different dtypes.
    Source:  ONNX Mod-13; torch.remainder, torch.fmod.
    """

    name = "nn.mod"
    fmod = prop_def(BOOL)


@irdl_op_definition
class EqualOp(CompareOp):
    """Elementwise comparison: y is whether a = b.

    Args:    a, b: tensor[...], any dtype or text, the same; broadcast as numpy does.
    Returns: y: the broadcast shape, bool.
    Raises:  E0401 if the shapes do not broadcast, E0403 for different dtypes.
    Source:  ONNX Equal-13; torch.eq.
    """

    name = "nn.equal"
    STRINGS: ClassVar[bool] = True
    KINDS: ClassVar[str] = WITH_TEXT


@irdl_op_definition
class NotEqualOp(CompareOp):
    """Elementwise comparison: y is whether a != b.

    Args:    a, b: tensor[...], any dtype, the same; broadcast as numpy does.
    Returns: y: the broadcast shape, bool.
    Raises:  E0401 if the shapes do not broadcast, E0403 for different dtypes.
    Source:  torch.ne; ONNX Not of Equal.
    """

    name = "nn.not_equal"
    STRINGS: ClassVar[bool] = True
    KINDS: ClassVar[str] = WITH_TEXT


@irdl_op_definition
class LessOp(CompareOp):
    """Elementwise comparison: y is whether a < b.

    Args:    a, b: tensor[...], any dtype, the same; broadcast as numpy does.
    Returns: y: the broadcast shape, bool.
    Raises:  E0401 if the shapes do not broadcast, E0403 for different dtypes.
    Source:  ONNX Less-13; torch.lt.
    """

    name = "nn.less"


@irdl_op_definition
class LessEqualOp(CompareOp):
    """Elementwise comparison: y is whether a <= b.

    Args:    a, b: tensor[...], any dtype, the same; broadcast as numpy does.
    Returns: y: the broadcast shape, bool.
    Raises:  E0401 if the shapes do not broadcast, E0403 for different dtypes.
    Source:  ONNX LessOrEqual-16; torch.le.
    """

    name = "nn.less_equal"


@irdl_op_definition
class GreaterOp(CompareOp):
    """Elementwise comparison: y is whether a > b.

    Args:    a, b: tensor[...], any dtype, the same; broadcast as numpy does.
    Returns: y: the broadcast shape, bool.
    Raises:  E0401 if the shapes do not broadcast, E0403 for different dtypes.
    Source:  ONNX Greater-13; torch.gt.
    """

    name = "nn.greater"


@irdl_op_definition
class GreaterEqualOp(CompareOp):
    """Elementwise comparison: y is whether a >= b.

    Args:    a, b: tensor[...], any dtype, the same; broadcast as numpy does.
    Returns: y: the broadcast shape, bool.
    Raises:  E0401 if the shapes do not broadcast, E0403 for different dtypes.
    Source:  ONNX GreaterOrEqual-16; torch.ge.
    """

    name = "nn.greater_equal"


@irdl_op_definition
class AndOp(LogicOp):
    """Conjunction: y = a and b.

    Args:    a, b: tensor[...], bool; broadcast as numpy does.
    Returns: y: the broadcast shape, bool.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another dtype.
    Source:  ONNX And-7; torch.logical_and.
    """

    name = "nn.and"


@irdl_op_definition
class OrOp(LogicOp):
    """Disjunction: y = a or b.

    Args:    a, b: tensor[...], bool; broadcast as numpy does.
    Returns: y: the broadcast shape, bool.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another dtype.
    Source:  ONNX Or-7; torch.logical_or.
    """

    name = "nn.or"


@irdl_op_definition
class XorOp(LogicOp):
    """Exclusive or: y = a or b, but not both.

    Args:    a, b: tensor[...], bool; broadcast as numpy does.
    Returns: y: the broadcast shape, bool.
    Raises:  E0401 if the shapes do not broadcast, E0403 for another dtype.
    Source:  ONNX Xor-7; torch.logical_xor.
    """

    name = "nn.xor"


@irdl_op_definition
class WhereOp(ElementwiseOp):
    """Choice: y = a where c holds, b elsewhere.

    Args:    c: tensor[...], bool.  a, b: tensor[...], any dtype, the same.  All broadcast as numpy does.
    Returns: y: the broadcast shape, the dtype of a and b.
    Raises:  E0401 if the shapes do not broadcast, E0403 if c is not bool or a and b differ.
    Source:  ONNX Where-16; torch.where.
    """

    name = "nn.where"
    STRINGS: ClassVar[bool] = True
    c = operand_def(TENSOR)
    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, c: Spec, a: Spec, b: Spec) -> Spec:
        if c.dtype != BOOL_TYPE:
            raise Error("E0403", f"the condition is bool, not {c.dtype}")
        return Spec(broadcast_shapes(c.shape, a.shape, b.shape), same_dtype(a, b))

"""Bases of the ops that compute each element of the result from the elements at its place."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from xdsl.irdl import operand_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import STORED_ONLY, Spec
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.nn.base import TENSOR, NNOp, same_dtype

FLOATING = "fV"
"""numpy kinds of the floating point types (V: bfloat16)."""

SIGNED = "ifV"
NUMERIC = "iufV"
ANY = "iufVb"
WITH_TEXT = ANY + "O"
BOOL_TYPE = np.dtype(np.bool_)


def require_kind(spec: Spec, kinds: str) -> Spec:
    """Raises E0403 unless the tensor's type is of one of the numpy kinds; ANY stands for types that are only stored, too."""
    if spec.dtype.kind not in kinds or (spec.dtype in STORED_ONLY and ANY not in kinds):
        raise Error("E0403", f"the op does not take elements of type {spec.dtype}")
    return spec


class ElementwiseOp(NNOp):
    """y[...] = f(operands at the same place), operands broadcast as numpy does."""

    ELEMENTWISE: ClassVar[bool] = True


class UnaryOp(ElementwiseOp):
    """y[...] = f(x[...]), of x's shape and dtype.  KINDS: numpy kinds of the dtypes it takes."""

    KINDS: ClassVar[str] = FLOATING
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, **attrs: Any) -> Spec:
        return require_kind(x, cls.KINDS)


class PredicateOp(ElementwiseOp):
    """y[...] = whether x[...] is of a certain sort: bool, of x's shape."""

    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec) -> Spec:
        return Spec(require_kind(x, FLOATING).shape, BOOL_TYPE)


class BinaryOp(ElementwiseOp):
    """y = f(a, b), operands of one dtype, which is y's too.  KINDS: numpy kinds of the dtypes it takes."""

    KINDS: ClassVar[str] = NUMERIC
    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, a: Spec, b: Spec, **attrs: Any) -> Spec:
        return require_kind(Spec(broadcast_shapes(a.shape, b.shape), same_dtype(a, b)), cls.KINDS)


class CompareOp(BinaryOp):
    """y = whether a and b, of one dtype, stand in a relation: bool.  A NaN stands in none but `not_equal`."""

    KINDS: ClassVar[str] = ANY

    @classmethod
    def infer(cls, a: Spec, b: Spec) -> Spec:
        return Spec(super().infer(a, b).shape, BOOL_TYPE)


class LogicOp(BinaryOp):
    """y = f(a, b) on truth values."""

    KINDS: ClassVar[str] = "b"

"""Views whose sizes are computed: the shape, the bounds of a part and what is broadcast to are operands.  They run on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INTS
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.shapes import axes_in
from ttc.dialects.nn.base import TENSOR, NNOp
from ttc.dialects.nn.index import require_indices


class SizedOp(NNOp):
    """The base of ops with an operand x first, sizes as further operands, and one result y of x's dtype."""

    STRINGS: ClassVar[bool] = True
    y = result_def(TENSOR)


def length_of(values: Spec, what: str) -> int:
    """Return the number of integers in an operand.  Raises E0401 unless it is a list of known length, E0403 unless of int32 or int64."""
    if require_indices(values).rank != 1 or values.shape[0] == DYNAMIC:
        raise Error("E0401", f"{what} is a list of as many integers as is known, not {values}")
    return values.shape[0]


def require_announced(sizes: Sequence[int], rank: int) -> None:
    """Raises E0402 unless there is a size, or -1, a dimension."""
    if len(sizes) != rank or any(size < DYNAMIC for size in sizes):
        raise Error("E0402", f"sizes {list(sizes)} are not those of {rank} dimensions")


@irdl_op_definition
class DynamicReshapeOp(SizedOp):
    """The elements of x in row-major order under a shape that is computed.

    Args:    x: tensor[...], any dtype or text.  shape: tensor[rank], int32 or int64; one of them may be -1: what remains.
             sizes: what is known of the shape; -1 where data decides.
    Returns: y: tensor[sizes], x's dtype.  A shape without x's elements, or with other sizes, is E0802 when the op runs.
    Raises:  E0401 if the length of shape is not known, E0402 if sizes do not suit it, E0403 for a shape of another dtype.
    Source:  ONNX Reshape-14 with a shape that is no constant; torch.reshape with sizes that depend on data.
    """

    name = "nn.dynamic_reshape"
    x = operand_def(TENSOR)
    shape = operand_def(TENSOR)
    sizes = prop_def(INTS)

    @classmethod
    def infer(cls, x: Spec, shape: Spec, *, sizes: tuple[int, ...]) -> Spec:
        require_announced(sizes, length_of(shape, "the shape"))
        return Spec(sizes, x.dtype)


@irdl_op_definition
class DynamicExpandOp(SizedOp):
    """x broadcast with a shape that is computed, as numpy broadcasts two arrays.

    Args:    x: tensor[...], any dtype or text.  shape: tensor[rank], int32 or int64.
             sizes: what is known of the result; -1 where data decides.
    Returns: y: tensor[sizes], x's dtype.  Shapes that do not broadcast, other sizes, and more than 256 M elements are E0802 when the op
             runs.
    Raises:  E0401 if the length of shape is not known, E0402 if sizes do not suit it, E0403 for a shape of another dtype.
    Source:  ONNX Expand-13 with a shape that is no constant; torch.Tensor.expand with sizes that depend on data.
    """

    name = "nn.dynamic_expand"
    x = operand_def(TENSOR)
    shape = operand_def(TENSOR)
    sizes = prop_def(INTS)

    @classmethod
    def infer(cls, x: Spec, shape: Spec, *, sizes: tuple[int, ...]) -> Spec:
        require_announced(sizes, max(x.rank, length_of(shape, "the shape")))
        return Spec(sizes, x.dtype)


@irdl_op_definition
class DynamicSliceOp(SizedOp):
    """A regular part of x along some axes, from start to end, as Python's slices have it: bounds clamp, negative ones count from the end.

    Args:    x: tensor[...], any dtype or text.  starts, ends, steps: tensor[axes], int32 or int64.  axes: distinct, in [-rank, rank).
    Returns: y: x's shape, the axes dynamic; x's dtype.  A step of 0 is E0802 when the op runs.
    Raises:  E0401 if the lists differ in length, E0402 or E0412 if axes are not distinct or outside the rank, E0403 for another dtype.
    Source:  ONNX Slice-13 with bounds that are no constants; torch.narrow with places that depend on data.
    """

    name = "nn.dynamic_slice"
    x = operand_def(TENSOR)
    starts = operand_def(TENSOR)
    ends = operand_def(TENSOR)
    steps = operand_def(TENSOR)
    axes = prop_def(INTS)

    @classmethod
    def infer(cls, x: Spec, starts: Spec, ends: Spec, steps: Spec, *, axes: tuple[int, ...]) -> Spec:
        along = axes_in(axes, x.rank)
        for values, what in ((starts, "starts"), (ends, "ends"), (steps, "steps")):
            if length_of(values, what) != len(along):
                raise Error("E0401", f"{what} {values} do not fit {len(along)} axes")
        return Spec(tuple(DYNAMIC if i in along else d for i, d in enumerate(x.shape)), x.dtype)

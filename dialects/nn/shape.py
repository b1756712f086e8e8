"""Ops that keep elements and change shape: reshape, transpose, expand, repeat, and the shape itself.  Pieces are in `pieces.py`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INTS
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.shapes import broadcast_shapes, require_length, require_sizes
from ttc.dialects.nn.base import TENSOR, NNOp


class ShapeOp(NNOp):
    """One operand x, one result y of its dtype."""

    x = operand_def(TENSOR)
    y = result_def(TENSOR)


@irdl_op_definition
class ReshapeOp(ShapeOp):
    """The elements of x in row-major order under another shape.

    Args:    x: tensor[...], any dtype.  shape: sizes; where x has a dynamic dimension one of them is -1, what remains.
    Returns: y: tensor[shape], x's dtype.
    Raises:  E0401 if the numbers of elements differ, E0402 if a size is negative.
    Source:  ONNX Reshape-14 (0 and -1: the importer resolves them); torch.reshape.
    """

    name = "nn.reshape"
    STRINGS: ClassVar[bool] = True
    shape = prop_def(INTS)

    @classmethod
    def infer(cls, x: Spec, *, shape: tuple[int, ...]) -> Spec:
        result = Spec(shape, x.dtype)
        if any(d < DYNAMIC for d in shape) or shape.count(DYNAMIC) > (0 if x.is_static else 1):
            raise Error("E0402", f"shape {list(shape)} has a negative size")
        if result.is_static and (not x.is_static or x.elements != result.elements):
            raise Error("E0401", f"{x} does not have the elements of shape {list(shape)}")
        return result


@irdl_op_definition
class TransposeOp(ShapeOp):
    """Permutation of dimensions: dimension i of y is dimension perm[i] of x.

    Args:    x: tensor[...], any dtype.  perm: a permutation of 0 .. rank - 1.
    Returns: y: x's dtype.
    Raises:  E0402 if perm is no permutation of the dimensions.
    Source:  ONNX Transpose-13; torch.permute.
    """

    name = "nn.transpose"
    STRINGS: ClassVar[bool] = True
    perm = prop_def(INTS)

    @classmethod
    def infer(cls, x: Spec, *, perm: tuple[int, ...]) -> Spec:
        if sorted(perm) != list(range(x.rank)):
            raise Error("E0402", f"perm {list(perm)} is no permutation of {x.rank} dimensions")
        return Spec(tuple(x.shape[i] for i in perm), x.dtype)


@irdl_op_definition
class ExpandOp(ShapeOp):
    """x broadcast with a shape, as numpy broadcasts two arrays: a 1 in the shape keeps x's size.

    Args:    x: tensor[...], any dtype.  shape: sizes.
    Returns: y: the broadcast shape, x's dtype.
    Raises:  E0401 if x does not broadcast with the shape, E0402 if a size is negative.
    Source:  ONNX Expand-13; torch.Tensor.expand (-1: the importer resolves it).
    """

    name = "nn.expand"
    STRINGS: ClassVar[bool] = True
    shape = prop_def(INTS)

    @classmethod
    def infer(cls, x: Spec, *, shape: tuple[int, ...]) -> Spec:
        require_sizes(shape, "shape")
        return Spec(broadcast_shapes(x.shape, shape), x.dtype)


@irdl_op_definition
class RepeatOp(ShapeOp):
    """Whole copies of x side by side, repeats[i] of them along dimension i.

    Args:    x: tensor[...], any dtype.  repeats: one a dimension, at least 0.
    Returns: y: x's shape times repeats, x's dtype.
    Raises:  E0402 if repeats does not suit the rank or has a negative value.
    Source:  ONNX Tile-13; torch.Tensor.repeat.
    """

    name = "nn.repeat"
    STRINGS: ClassVar[bool] = True
    repeats = prop_def(INTS)

    @classmethod
    def infer(cls, x: Spec, *, repeats: tuple[int, ...]) -> Spec:
        require_length(repeats, x.rank, "repeats")
        require_sizes(repeats, "repeats")
        return Spec(tuple(DYNAMIC if d == DYNAMIC else d * n for d, n in zip(x.shape, repeats, strict=True)), x.dtype)


@irdl_op_definition
class ShapeOfOp(NNOp):
    """The sizes of x's dimensions.

    Args:    x: tensor[...], any dtype.
    Returns: y: tensor[rank], int64.
    Source:  ONNX Shape-15 (start and end: the importer slices); torch.Tensor.size.
    """

    name = "nn.shape"
    STRINGS: ClassVar[bool] = True
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec) -> Spec:
        return Spec((x.rank,), np.dtype(np.int64))

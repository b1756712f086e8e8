"""Sequences of tensors whose length data decides: all their elements one after the other, and the shape of each.  They run on the host."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, INT, INTS
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.base import TENSOR, NNOp
from ttc.dialects.nn.dynamic import require_announced
from ttc.dialects.nn.selection import INDEX_TYPE


class SequenceOp(NNOp):
    """Takes a sequence of tensors of one dtype and rank: flat, tensor[?]: their elements; sizes, tensor[?, rank]: a shape a tensor."""

    STRINGS: ClassVar[bool] = True


def rank_of(flat: Spec, sizes: Spec) -> int:
    """Return the rank of the tensors of a sequence.  Raises E0401, E0403."""
    if sizes.dtype != INDEX_TYPE:
        raise Error("E0403", f"sizes are int64, not {sizes.dtype}")
    if flat.rank != 1 or sizes.rank != 2 or sizes.shape[1] == DYNAMIC:
        raise Error("E0401", f"{flat} and {sizes} are no sequence")
    return sizes.shape[1]


def require_position(position: Spec | None) -> None:
    """Raises E0403 unless it is absent or one int64."""
    if position not in (None, Spec((), INDEX_TYPE)):
        raise Error("E0403", f"a position is one int64, not {position}")


def _sequence(flat: Spec, rank: int) -> tuple[Spec, Spec]:
    return Spec((DYNAMIC,), flat.dtype), Spec((DYNAMIC, rank), INDEX_TYPE)


@irdl_op_definition
class SequenceInsertOp(SequenceOp):
    """A sequence with one tensor more, before the one at a position; at the end without one.

    Args:    flat: tensor[elements], any dtype or text.  sizes: tensor[length, rank], int64.  x: tensor of that dtype and rank.
             position: tensor[], int64, in [-length, length].
    Returns: grown, grown_sizes: the new sequence.  A position outside is E0802 when the op runs.
    Raises:  E0401 if x has another rank, E0403 for another dtype.
    Source:  ONNX SequenceInsert-11; TensorFlow TensorListPushBack.
    """

    name = "nn.sequence_insert"
    flat = operand_def(TENSOR)
    sizes = operand_def(TENSOR)
    x = operand_def(TENSOR)
    position = opt_operand_def(TENSOR)
    grown = result_def(TENSOR)
    grown_sizes = result_def(TENSOR)

    @classmethod
    def infer(cls, flat: Spec, sizes: Spec, x: Spec, position: Spec | None = None) -> tuple[Spec, ...]:
        require_position(position)
        if x.rank != rank_of(flat, sizes):
            raise Error("E0401", f"{x} is not of the rank of {sizes}")
        if x.dtype != flat.dtype:
            raise Error("E0403", f"{x} goes into a sequence of {flat.dtype}")
        return _sequence(flat, x.rank)


@irdl_op_definition
class SequenceEraseOp(SequenceOp):
    """A sequence without the tensor at a position; without the last one if none is given.

    Args:    flat: tensor[elements], any dtype or text.  sizes: tensor[length, rank], int64.  position: tensor[], int64, in
             [-length, length).
    Returns: left, left_sizes: the new sequence.  A position outside is E0802 when the op runs.
    Raises:  E0401, E0403 for what is no sequence or position.
    Source:  ONNX SequenceErase-11.
    """

    name = "nn.sequence_erase"
    flat = operand_def(TENSOR)
    sizes = operand_def(TENSOR)
    position = opt_operand_def(TENSOR)
    left = result_def(TENSOR)
    left_sizes = result_def(TENSOR)

    @classmethod
    def infer(cls, flat: Spec, sizes: Spec, position: Spec | None = None) -> tuple[Spec, ...]:
        require_position(position)
        return _sequence(flat, rank_of(flat, sizes))


@irdl_op_definition
class SequenceAtOp(SequenceOp):
    """The tensor at a position of a sequence.

    Args:    flat: tensor[elements], any dtype or text.  sizes: tensor[length, rank], int64.  position: tensor[], int64, in
             [-length, length).  shape: what is known of the tensor's shape; -1 where data decides.
    Returns: y: tensor[shape], flat's dtype.  A position outside, or another shape, is E0802 when the op runs.
    Raises:  E0401, E0402, E0403 for what is no sequence, shape or position.
    Source:  ONNX SequenceAt-11; TensorFlow TensorListGetItem.
    """

    name = "nn.sequence_at"
    flat = operand_def(TENSOR)
    sizes = operand_def(TENSOR)
    position = operand_def(TENSOR)
    shape = prop_def(INTS)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, flat: Spec, sizes: Spec, position: Spec, *, shape: tuple[int, ...]) -> Spec:
        require_position(position)
        require_announced(shape, rank_of(flat, sizes))
        return Spec(shape, flat.dtype)


@irdl_op_definition
class SequenceJoinOp(SequenceOp):
    """The tensors of a sequence one after the other along an axis, or stacked along a new one.

    Args:    flat: tensor[elements], any dtype or text.  sizes: tensor[length, rank], int64.  axis: of the result.
             stacked: whether it is a new one.  shape: what is known of the result's shape; -1 where data decides.
    Returns: y: tensor[shape], flat's dtype.  An empty sequence, tensors that do not fit, or another shape is E0802 when the op runs.
    Raises:  E0401, E0402, E0403 for what is no sequence or shape, E0412 for an axis outside the rank.
    Source:  ONNX ConcatFromSequence-11; TensorFlow TensorListStack, TensorListConcatV2.
    """

    name = "nn.sequence_join"
    flat = operand_def(TENSOR)
    sizes = operand_def(TENSOR)
    axis = prop_def(INT)
    stacked = prop_def(BOOL)
    shape = prop_def(INTS)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, flat: Spec, sizes: Spec, *, axis: int, stacked: bool, shape: tuple[int, ...]) -> Spec:
        rank = rank_of(flat, sizes) + stacked
        axis_in(axis, rank)
        require_announced(shape, rank)
        return Spec(shape, flat.dtype)

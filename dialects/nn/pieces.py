"""Ops that cut tensors and join them: slice, split, concat, pad."""

from __future__ import annotations

from math import isfinite
from typing import ClassVar

import numpy as np
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def, var_result_def

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import FLOAT, INT, INTS, STR
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.core.shapes import axis_in, require_length, require_sizes
from ttc.dialects.nn.base import TENSOR, NNOp, same_dtype
from ttc.dialects.nn.shape import ShapeOp


@irdl_op_definition
class SliceOp(ShapeOp):
    """A regular part of x: element i of y along a dimension is element start + i * step of x.

    Args:    x: tensor[...], any dtype.  starts, sizes, steps: one a dimension; steps may be negative.  Every element lies inside x; a
             dynamic dimension is kept whole: start 0, size -1, step 1.
    Returns: y: tensor[sizes], x's dtype.
    Raises:  E0402 if the part is not inside x, a step is 0, or a list does not suit the rank.
    Source:  ONNX Slice-13 (ends, negative and clamped bounds: the importer resolves them); torch.Tensor.__getitem__.
    """

    name = "nn.slice"
    STRINGS: ClassVar[bool] = True
    starts = prop_def(INTS)
    sizes = prop_def(INTS)
    steps = prop_def(INTS)

    @classmethod
    def infer(cls, x: Spec, *, starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]) -> Spec:
        for values, what in ((starts, "starts"), (sizes, "sizes"), (steps, "steps")):
            require_length(values, x.rank, what)
        for axis, entry in enumerate(zip(x.shape, starts, sizes, steps, strict=True)):
            if not _is_inside(*entry):
                _, start, size, step = entry
                raise Error("E0402", f"{size} elements from {start} in steps of {step} are not inside dimension {axis} of {x}")
        return Spec(sizes, x.dtype)


def _is_inside(length: int, start: int, size: int, step: int) -> bool:
    """Return whether `size` elements from `start` in steps lie inside a dimension."""
    if length == DYNAMIC:
        return (start, size, step) == (0, DYNAMIC, 1)
    if step == 0 or size < 0:
        return False
    return size == 0 or (0 <= start < length and 0 <= start + (size - 1) * step < length)


@irdl_op_definition
class ConcatOp(NNOp):
    """The operands one after the other along one axis.

    Args:    xs: one or more tensor[..., d_axis, ...] of one dtype, which differ in d_axis alone.  axis: in [-rank, rank).
    Returns: y: the shape with the sum of d_axis.
    Raises:  E0412 if axis is outside the rank, E0401 if other dimensions differ, E0403 if dtypes differ.
    Source:  ONNX Concat-13; torch.cat.
    """

    name = "nn.concat"
    STRINGS: ClassVar[bool] = True
    xs = var_operand_def(TENSOR)
    axis = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, *xs: Spec, axis: int) -> Spec:
        if not xs:
            raise Error("E0401", "concat needs an operand")
        dtype = same_dtype(*xs)
        place = axis_in(axis, xs[0].rank)
        if any(x.rank != xs[0].rank for x in xs):
            raise Error("E0401", f"operands of different ranks: {', '.join(map(str, xs))}")
        shape = [_joined({x.shape[i] for x in xs}) for i in range(xs[0].rank) if i != place]
        lengths = [x.shape[place] for x in xs]
        shape.insert(place, DYNAMIC if DYNAMIC in lengths else sum(lengths))
        return Spec(tuple(shape), dtype)


def _joined(sizes: set[int]) -> int:
    """Return the size that operands share in a dimension; an unknown one gives way.  Raises E0401."""
    known = sizes - {DYNAMIC}
    if len(known) > 1:
        raise Error("E0401", f"operands differ in a dimension that is not the axis: {', '.join(map(str, sorted(known)))}")
    return known.pop() if known else DYNAMIC


@irdl_op_definition
class SplitOp(NNOp):
    """x cut along one axis into consecutive pieces.

    Args:    x: tensor[..., d_axis, ...], any dtype.  axis: in [-rank, rank).  sizes: of the pieces along the axis; their sum is d_axis.
    Returns: ys: one tensor a piece, x's dtype.
    Raises:  E0412 if axis is outside the rank, E0401 if d_axis is dynamic, E0402 if sizes do not add up to it.
    Source:  ONNX Split-18; torch.split.
    """

    name = "nn.split"
    STRINGS: ClassVar[bool] = True
    x = operand_def(TENSOR)
    axis = prop_def(INT)
    sizes = prop_def(INTS)
    ys = var_result_def(TENSOR)

    @classmethod
    def infer(cls, x: Spec, *, axis: int, sizes: tuple[int, ...]) -> tuple[Spec, ...]:
        place = axis_in(axis, x.rank)
        if x.shape[place] == DYNAMIC:
            raise Error("E0401", f"axis {axis} of {x} is dynamic")
        require_sizes(sizes, "sizes")
        if not sizes or sum(sizes) != x.shape[place]:
            raise Error("E0402", f"sizes {list(sizes)} do not add up to axis {axis} of {x}")
        return tuple(Spec((*x.shape[:place], size, *x.shape[place + 1 :]), x.dtype) for size in sizes)


@irdl_op_definition
class PadOp(ShapeOp):
    """x with margins: constant: of a value; reflect: of its mirror image without the border; edge: of its border;
    wrap: of the other end.

    Args:    x: tensor[...], any dtype.  before, after: elements added in front of and behind each dimension, at least 0.
             value: of the margins, in mode constant.  mode: constant, reflect, edge or wrap.
    Returns: y: x's shape plus before and after, x's dtype.
    Raises:  E0402 if a margin is negative or wider than what it repeats, if value does not fit the dtype, or mode is unknown.
    Source:  ONNX Pad-21 (negative pads: the importer slices); torch.nn.functional.pad.
    """

    name = "nn.pad"
    before = prop_def(INTS)
    after = prop_def(INTS)
    value = prop_def(FLOAT)
    mode = prop_def(STR)

    @classmethod
    def infer(cls, x: Spec, *, before: tuple[int, ...], after: tuple[int, ...], value: float, mode: str) -> Spec:
        for values, what in ((before, "before"), (after, "after")):
            require_length(values, x.rank, what)
            require_sizes(values, what)
        _require_value(value, x.dtype)
        for length, *margins in zip(x.shape, before, after, strict=True):
            _require_margin(length, max(margins), mode)
        sizes = (DYNAMIC if d == DYNAMIC else b + d + a for b, d, a in zip(before, x.shape, after, strict=True))
        return Spec(tuple(sizes), x.dtype)


def _require_value(value: float, dtype: np.dtype) -> None:
    """Raises E0402 if an integer dtype does not hold the value."""
    if dtype.kind not in "iu":
        return
    info = np.iinfo(dtype)
    if not isfinite(value) or not info.min <= value <= info.max:
        raise Error("E0402", f"{dtype} does not hold the value {value}")


def _require_margin(length: int, margin: int, mode: str) -> None:
    """Raises E0402 if a dimension has too few elements for a margin, or the mode is unknown."""
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise Error("E0402", f"mode is constant, reflect, edge or wrap, not '{mode}'")
    if margin == 0 or mode == "constant" or length == DYNAMIC:
        return
    if length == 0 or (mode == "reflect" and margin >= length) or (mode == "wrap" and margin > length):
        raise Error("E0402", f"a margin of {margin} in mode {mode} needs more than {length} elements")

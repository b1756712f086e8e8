"""Convolutions and pools with channels last, and everything between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache
from typing import Any, ClassVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.conv import Conv2dOp, ConvTranspose2dOp
from ttc.dialects.nn.index import GatherOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.norm import BatchNormOp, LayerNormOp
from ttc.dialects.nn.pieces import ConcatOp, PadOp, SliceOp, SplitOp
from ttc.dialects.nn.pool import AvgPool2dOp, MaxPool2dOp
from ttc.dialects.nn.reduce import (
    ArgMaxOp,
    ArgMinOp,
    CumprodOp,
    CumsumOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
)
from ttc.dialects.nn.resize import ResizeOp
from ttc.dialects.nn.shape import RepeatOp, ReshapeOp, TransposeOp
from ttc.dialects.nn.softmax import LogSoftmaxOp, SoftmaxOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.group_norms import GroupNorm, group_norm, normalized
from ttc.passes.nn.match import (
    attr,
    composed,
    elementwise,
    inverse,
    is_constant,
    owner,
    perm_of,
    rebuilt,
    reshaped,
    shape_of,
    transposed,
    users,
)

WEIGHTS_LAST = (2, 3, 1, 0)
"""Permutations of filters: [O, I/g, kh, kw] to [kh, kw, I/g, O], and for transposed convolutions [I, O/g, kh, kw] to [kh, kw, O/g, I]."""


@record
class ChannelsLast(Pass):
    """Lay convolutions and pools out as [n, h, w, c], and carry that layout through all that computes in any layout.

    Every value that comes from such an op gets a twin with channels last; ops that can work on twins do, and a transpose back stands
    only before an op that cannot, once a value.  Weights are transposed by ops on constants, which consteval evaluates.

    Before:
        (%x: tensor<1x3x8x8xf32>)
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<4x3x1x1xf32>>} : () -> tensor<4x3x1x1xf32>
        %1 = nn.conv2d(%x, %w, _) {dilations = [1, 1], groups = 1, layout = "nchw", pads = [0, 0, 0, 0], strides = [1, 1]}
            : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
        %2 = nn.relu(%1) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
        %3 = nn.reduce_mean(%2) {axes = [2, 3], keepdims = false} : (tensor<1x4x8x8xf32>) -> tensor<1x4xf32>
        return %3 : tensor<1x4xf32>
    After:
        (%x: tensor<1x3x8x8xf32>)
        %0 = nn.transpose(%x) {perm = [0, 2, 3, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<4x3x1x1xf32>>} : () -> tensor<4x3x1x1xf32>
        %t = nn.transpose(%w) {perm = [2, 3, 1, 0]} : (tensor<4x3x1x1xf32>) -> tensor<1x1x3x4xf32>
        %1 = nn.conv2d(%0, %t, _) {dilations = [1, 1], groups = 1, layout = "nhwc", pads = [0, 0, 0, 0], strides = [1, 1]}
            : (tensor<1x8x8x3xf32>, tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32>
        %2 = nn.relu(%1) : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
        %3 = nn.reduce_mean(%2) {axes = [1, 2], keepdims = false} : (tensor<1x8x8x4xf32>) -> tensor<1x4xf32>
        return %3 : tensor<1x4xf32>
    Missed:
        an op that knows nothing of layouts reads a value with channels last, which costs a transpose.
    """

    name: ClassVar[str] = "channels-last"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            _Layout(rewriter).carry_through(function)


def channels_last(rank: int) -> tuple[int, ...]:
    """Return the permutation that moves dimension 1 to the end."""
    return (0, *range(2, rank), 1)


@record(frozen=False)
class _Layout:
    """One sweep: values and their twins with channels last.

    Args:
        twins: value -> the same with dimension 1 moved to the end.
        plain: value with a twin -> the value made from it where the original layout is needed.
        replaced: ops that stand no longer for anything, in program order.
        turned: values that a transpose of the model makes of their twins: reading the twin instead may save it.
    """

    rewriter: Rewriter
    twins: dict[SSAValue, SSAValue] = field(default_factory=dict)
    plain: dict[SSAValue, SSAValue] = field(default_factory=dict)
    replaced: list[Operation] = field(default_factory=list)
    turned: set[SSAValue] = field(default_factory=set)

    def carry_through(self, function: FuncOp) -> None:
        """Sweep a function, then erase what was replaced."""
        for block in function.body.blocks:
            for op in list(block.ops):
                if op.parent is not None:
                    self._visit(op)
        for op in reversed(self.replaced):
            op.detach()
            op.erase()

    def _visit(self, op: Operation) -> None:
        if (isinstance(op, TransposeOp) and self._turns(op)) or (isinstance(op, ReshapeOp) and self._unflattens(op)):
            return
        anchored = type(op) in _ANCHORS and attr(op, "layout") == "nchw"
        if not anchored and not any(x in self.turned or (x in self.twins and self.plain.get(x) is not x) for x in op.operands):
            return
        handler = _handlers().get(type(op))
        if handler is None or not self.rewriter.allow("channels-last", op) or not handler(self, op):
            self._read_plain(op)

    def _turns(self, op: TransposeOp) -> bool:
        """Return whether the op moves the last dimension of maps to place 1, so that what it reads is the twin of what it gives."""
        x, y = op.operands[0], op.results[0]
        rank = len(shape_of(x))
        if rank < 4 or x in self.twins or perm_of(op) != inverse(channels_last(rank)):
            return False
        return self._is_turned(y, x)

    def _unflattens(self, op: ReshapeOp) -> bool:
        """Return whether the op makes maps [n, c, h, w] of transposed tokens [n, h * w, c], which are the twin but for shape."""
        turn, wanted = owner(op.operands[0], TransposeOp), shape_of(op.results[0])
        if turn is None or perm_of(turn) != (0, 2, 1) or op.operands[0] in self.twins or len(wanted) < 4:
            return False
        tokens = turn.operands[0]
        if wanted[:2] != (shape_of(tokens)[0], shape_of(tokens)[2]):
            return False
        return self._is_turned(op.results[0], reshaped(self.rewriter, op, tokens, (wanted[0], *wanted[2:], wanted[1])))

    def _is_turned(self, value: SSAValue, twin: SSAValue) -> bool:
        """The model makes a value of its twin."""
        self.twins[value], self.plain[value] = twin, value
        self.turned.add(value)
        return True

    # ---- values ------------------------------------------------------------------------------------------------------------------

    def twin(self, value: SSAValue, anchor: Operation, rank: int) -> SSAValue:
        """Return the value as an operand, broadcast to a rank, of an op that works with channels last."""
        shape = shape_of(value)
        if len(shape) < rank:
            if all(size == 1 for size in shape):
                return value
            value = reshaped(self.rewriter, anchor, value, (1,) * (rank - len(shape)) + shape)
        found = self.twins.get(value)
        if found is not None:
            return found
        made = transposed(self.rewriter, _after(value, anchor), value, channels_last(rank), (anchor,))
        self.twins[value] = made
        self.plain[value] = value
        return made

    def carried(self, op: NNOp, results: Sequence[SSAValue]) -> bool:
        """The op is replaced; its results have these twins."""
        for old, new in zip(op.results, results, strict=True):
            self.twins[old] = new
            new.name_hint = old.name_hint
        self.replaced.append(op)
        return True

    def settled(self, op: NNOp, value: SSAValue) -> bool:
        """The op is replaced by a value in its own layout."""
        value.name_hint = value.name_hint or op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)
        self.replaced.append(op)
        return True

    def _read_plain(self, op: Operation) -> None:
        """Let an op read values in their own layout, transposing back those that exist as twins only."""
        if not any(x in self.twins for x in op.operands):
            return
        operands = [self.plain_value(x, op) for x in op.operands]
        if operands != list(op.operands):
            op.operands = operands

    def plain_value(self, value: SSAValue, reader: Operation) -> SSAValue:
        """Return the value in its own layout, for an op that reads it so."""
        twin = self.twins.get(value)
        if twin is None:
            return value
        found = self.plain.get(value)
        if found is None:
            rank = len(shape_of(twin))
            found = transposed(self.rewriter, _after(twin, reader), twin, inverse(channels_last(rank)), (reader,))
            if isinstance(reader, TtcOp):
                self.rewriter.missed(reader, f"{reader.name} reads a value with channels last, which is transposed back")
            self.plain[value] = found
        return found


def _after(value: SSAValue, reader: Operation) -> Operation:
    """Return the op before which a value made of `value` is defined for all its readers: the next after its definition."""
    owner = value.owner
    following = owner.first_op if isinstance(owner, Block) else owner.next_op
    return reader if following is None or following.parent is not reader.parent else following


# ---- ops, each True if it was replaced ---------------------------------------------------------------------------------------------


def _convolution(layout: _Layout, op: NNOp) -> bool:
    if attr(op, "layout") != "nchw":
        return False
    x, weights, bias = op.named_operands()
    if x is None or weights is None:
        return False
    last = transposed(layout.rewriter, op, layout.plain_value(weights, op), WEIGHTS_LAST)
    bias = None if bias is None else layout.plain_value(bias, op)
    new = rebuilt(layout.rewriter, op, op, (layout.twin(x, op, 4), last, bias), (op,), layout="nhwc")
    return layout.carried(op, new.results)


def _pool(layout: _Layout, op: NNOp) -> bool:
    if attr(op, "layout") != "nchw":
        return False
    new = rebuilt(layout.rewriter, op, op, (layout.twin(op.operands[0], op, 4),), (op,), layout="nhwc")
    return layout.carried(op, new.results)


def _elementwise(layout: _Layout, op: NNOp) -> bool:
    rank = len(shape_of(op.results[0]))
    if any(len(shape_of(x)) != rank for x in op.operands if x in layout.twins):
        return False
    new = rebuilt(layout.rewriter, op, op, [layout.twin(x, op, rank) for x in op.operands], (op,))
    return layout.carried(op, new.results)


def _along_axis(layout: _Layout, op: NNOp) -> bool:
    """Ops with one axis: concat, split, softmax, sums up to each place, batch_norm and gather (whose first operand alone has channels)."""
    rank = len(shape_of(op.results[0]))
    axis = channels_last(rank).index(attr(op, "axis") % rank)
    if isinstance(op, GatherOp) and len(shape_of(op.operands[1])) != 1:
        return False
    count = 1 if isinstance(op, BatchNormOp | GatherOp) else len(op.operands)
    operands = [layout.twin(x, op, rank) if i < count else layout.plain_value(x, op) for i, x in enumerate(op.operands)]
    return layout.carried(op, rebuilt(layout.rewriter, op, op, operands, (op,), axis=axis).results)


def _by_dimension(layout: _Layout, op: NNOp) -> bool:
    """Return ops with numbers a dimension: pad, slice, repeat."""
    perm = channels_last(len(shape_of(op.results[0])))
    changed = {name: composed(value, perm) for name, value in op.plain_attrs().items() if isinstance(value, tuple)}
    new = rebuilt(layout.rewriter, op, op, (layout.twin(op.operands[0], op, len(perm)),), (op,), **changed)
    return layout.carried(op, new.results)


def _resize(layout: _Layout, op: ResizeOp) -> bool:
    """Resize, whose window has starts of all dimensions, and then ends."""
    perm, attrs = channels_last(len(shape_of(op.results[0]))), op.plain_attrs()
    window = tuple(x for part in (attrs["window"][: len(perm)], attrs["window"][len(perm) :]) for x in composed(part, perm))
    changed = {"sizes": composed(attrs["sizes"], perm), "scales": composed(attrs["scales"], perm), "window": window}
    new = rebuilt(layout.rewriter, op, op, (layout.twin(op.operands[0], op, len(perm)),), (op,), **changed)
    return layout.carried(op, new.results)


def _reduce(layout: _Layout, op: NNOp) -> bool:
    """Return ops that bring dimensions to one element: reductions over axes, places along an axis."""
    rank = len(shape_of(op.operands[0]))
    perm = channels_last(rank)
    one = attr(op, "axis")
    axes = {a % rank for a in (attr(op, "axes") if one is None else (one,))}
    kept = [i for i in perm if attr(op, "keepdims") or i not in axes]
    in_order = kept == sorted(kept)
    if not in_order and kept != [sorted(kept)[i] for i in channels_last(len(kept))]:
        return False
    twin_axes = tuple(sorted(perm.index(a) for a in axes))
    changed = {"axes": twin_axes} if one is None else {"axis": twin_axes[0]}
    new = rebuilt(layout.rewriter, op, op, (layout.twin(op.operands[0], op, rank),), (op,), **changed)
    return layout.settled(op, new.results[0]) if in_order else layout.carried(op, new.results)


def _transpose(layout: _Layout, op: TransposeOp) -> bool:
    twin = layout.twins[op.operands[0]]
    back = inverse(channels_last(len(shape_of(twin))))
    return layout.settled(op, transposed(layout.rewriter, op, twin, composed(back, perm_of(op))))


def _reshape(layout: _Layout, op: ReshapeOp) -> bool:
    """Reshapes that keep channels whole: of a map of one pixel, merging the pixels, or merging all before a matmul."""
    x, wanted = op.operands[0], shape_of(op.results[0])
    shape = shape_of(x)
    if min((*shape, *wanted), default=1) < 0:
        return False
    twin = layout.twins[x]
    norm = group_norm(op)
    if norm is not None:
        return _group_norm(layout, norm, twin)
    pixels = _count(shape[2:])
    if pixels == 1 or shape[1] == 1:
        return layout.settled(op, reshaped(layout.rewriter, op, twin, wanted))
    if wanted == (shape[0], shape[1], pixels):
        merged = rebuilt(layout.rewriter, op, op, (twin,), (op,), shape=(shape[0], pixels, shape[1]))
        return layout.carried(op, merged.results)
    if wanted == (shape[0], shape[1] * pixels):
        return _flatten(layout, op, twin, shape)
    return False


def _layer_norm(layout: _Layout, op: LayerNormOp) -> bool:
    """Return a normalization of the pixels of every channel."""
    norm = group_norm(op)
    return norm is not None and _group_norm(layout, norm, layout.twins[op.operands[0]])


def _group_norm(layout: _Layout, norm: GroupNorm, twin: SSAValue) -> bool:
    """Return the result of a normalization, of which the ops on the way stand for nothing."""
    *inner, last = norm.ops
    layout.replaced += inner
    return layout.carried(last, [normalized(layout.rewriter, norm, twin)])


def _flatten(layout: _Layout, op: ReshapeOp, twin: SSAValue, shape: Sequence[int]) -> bool:
    """Return a flattening that only matmuls with constant weights read: their rows are permuted instead."""
    found = users(op.results[0])
    readers = [reader for reader in found if isinstance(reader, MatmulOp) and _takes_permuted(layout, reader, op.results[0])]
    if not readers or len(readers) != len(found):
        return False
    flat = reshaped(layout.rewriter, op, twin, shape_of(op.results[0]))
    for reader in readers:
        weights = _permuted_rows(layout.rewriter, reader, shape)
        new = rebuilt(layout.rewriter, reader, reader, (flat, weights, *reader.named_operands()[2:]), (op, reader))
        layout.rewriter.replace(reader, new.results[0])
    return layout.settled(op, flat)


def _takes_permuted(layout: _Layout, reader: MatmulOp, flat: SSAValue) -> bool:
    if attr(reader, "transpose_a") or reader.operands[0] is not flat:
        return False
    others = reader.operands[1:]
    return len(shape_of(others[0])) == 2 and is_constant(others[0]) and not any(x is flat or x in layout.twins for x in others)


def _permuted_rows(rewriter: Rewriter, reader: MatmulOp, shape: Sequence[int]) -> SSAValue:
    """Return the matmul's weights with the rows that were in order [c, h, w] in order [h, w, c]."""
    weights = reader.operands[1]
    apart = shape[1:]
    rows = list(range(len(apart)))
    if attr(reader, "transpose_b"):
        outer = reshaped(rewriter, reader, weights, (shape_of(weights)[0], *apart))
        perm = (0, *(1 + i for i in (*rows[1:], 0)))
    else:
        outer = reshaped(rewriter, reader, weights, (*apart, shape_of(weights)[1]))
        perm = (*rows[1:], 0, len(apart))
    return reshaped(rewriter, reader, transposed(rewriter, reader, outer, perm), shape_of(weights))


def _count(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


_ANCHORS = (Conv2dOp, ConvTranspose2dOp, MaxPool2dOp, AvgPool2dOp)


@cache
def _handlers() -> dict[type[Operation], Callable[[_Layout, Any], bool]]:
    return {
        **dict.fromkeys(elementwise(), _elementwise),
        **dict.fromkeys((Conv2dOp, ConvTranspose2dOp), _convolution),
        **dict.fromkeys((MaxPool2dOp, AvgPool2dOp), _pool),
        **dict.fromkeys((ConcatOp, SplitOp, SoftmaxOp, LogSoftmaxOp, BatchNormOp, CumsumOp, CumprodOp, GatherOp), _along_axis),
        **dict.fromkeys((PadOp, SliceOp, RepeatOp), _by_dimension),
        **dict.fromkeys((ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp, ArgMaxOp, ArgMinOp), _reduce),
        LayerNormOp: _layer_norm,
        ResizeOp: _resize,
        TransposeOp: _transpose,
        ReshapeOp: _reshape,
    }

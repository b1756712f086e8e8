"""Ops along some dimensions: samples stay apart in all others."""

from __future__ import annotations

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.core.shapes import axes_in
from ttc.dialects.nn.batching import BATCHING
from ttc.dialects.nn.batching.op import BatchedOp, Carriage


@BATCHING.rule("softmax", "log_softmax", "cumsum", "cumprod", "topk", "batch_norm")
def one_axis(op: BatchedOp) -> Carriage | None:
    """Indices of other dimensions are treated apart; statistics of a norm are the same for all samples."""
    _, at = op.first
    return op.alone(at) if at.axis != op.axis() else None


@BATCHING.rule("fft", "irfft")
def transform(op: BatchedOp) -> Carriage | None:
    """Real and imaginary parts are transformed along one dimension."""
    _, at = op.first
    return Carriage(tuple(None if x is None else at for x in op.operands), (at,) * len(op.results)) if at.axis != op.axis() else None


@BATCHING.rule("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
def reduction(op: BatchedOp) -> Carriage | None:
    """Dimensions that are not combined stay."""
    return _without(op, axes_in(op.attrs["axes"], op.rank()))


@BATCHING.rule("argmax", "argmin")
def place_of_extreme(op: BatchedOp) -> Carriage | None:
    """Dimensions that are not searched stay."""
    return _without(op, (op.axis(),))


def _without(op: BatchedOp, gone: tuple[int, ...]) -> Carriage | None:
    _, at = op.first
    shift = 0 if op.attrs["keepdims"] else sum(axis < at.axis for axis in gone)
    return op.alone(BatchAxis(at.axis - shift, at.runs)) if at.axis not in gone else None


@BATCHING.rule("layer_norm", "rms_norm")
def norm(op: BatchedOp) -> Carriage | None:
    """Dimensions in front of the axis are treated apart; scales and shifts broadcast."""
    at = op.carried[0]
    return op.all_beside(at) if at is not None and at.axis < op.axis() else None


@BATCHING.rule("reverse_sequence")
def reverse_sequence(op: BatchedOp) -> Carriage | None:
    """Each index of the batch's dimension has a length of its own; other dimensions than the time's are treated apart."""
    at = op.carried[0]
    if at is None or at.axis == op.attrs["time_axis"]:
        return None
    return Carriage((at, BatchAxis(0, at.runs) if at.axis == op.attrs["batch_axis"] else None), (at,))


@BATCHING.rule("rnn", "gru", "lstm", "lstm_training")
def recurrent(op: BatchedOp) -> Carriage | None:
    """Samples stand in the second dimension of inputs, states and results, and are those of the lengths."""
    at = op.carried[0]
    if at is None or at.axis != 1:
        return None
    own = {0: at, 4: BatchAxis(0, at.runs), 5: at, **({6: at} if len(op.results) > 2 else {})}
    found = tuple(None if x is None else own.get(index) for index, x in enumerate(op.operands))
    return Carriage(found, tuple(at if x.rank == 3 else BatchAxis(2, at.runs) for x in op.results))


@BATCHING.rule("recurrent_gradient")
def recurrent_gradient(op: BatchedOp) -> Carriage | None:
    """Samples stand in the second dimension of everything but the weights."""
    _, at = op.first
    return Carriage((at, None, at, at), (at, at)) if at.axis == 1 and op.carried[1] is None else None

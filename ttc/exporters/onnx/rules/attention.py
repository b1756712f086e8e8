"""Attention as products and a softmax, and rotary embeddings as pieces."""

from __future__ import annotations

from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.writer import NodeWriter


@NODE_RULES.rule("attention")
def attention(step: NodeWriter) -> None:
    """Write softmax(q k^T * scale + mask) v; rows that are masked whole give zeros where the op says so."""
    rank = len(step.shape(1))
    keys = step.transposed(step.x(1), (*range(rank - 2), rank - 1, rank - 2), 1)
    scaled = step.make("Mul", step.x(0), step.constant(step.attr("scale"), step.dtype()))
    scores = step.make("MatMul", scaled, keys)
    if step.has(3):
        scores = step.make("Add", scores, step.x(3))
    weights = step.make("Softmax", scores, axis=-1)
    if step.has(3) and step.attr("zero_masked"):
        nothing = step.make("And", step.make("IsNaN", weights), step.make("IsInf", scores, detect_positive=0))  # NaN of operands stays
        weights = step.make("Where", nothing, step.constant(0, step.dtype()), weights)
    step.give("MatMul", weights, step.x(2))


@NODE_RULES.rule("rotary_embedding")
def rotary_embedding(step: NodeWriter) -> None:
    """Write x * cos + turned(x) * sin, where turned exchanges the features of a pair."""
    shape, x = step.shape(), step.x()
    if step.attr("interleaved"):
        pairs = step.make("Reshape", x, step.constant([*shape[:-1], shape[-1] // 2, 2]))
        first, second = _halves(step, pairs, 1, len(shape))
        turned = step.make("Concat", step.make("Neg", second), first, axis=len(shape))
        turned = step.make("Reshape", turned, step.constant(shape))
    else:
        first, second = _halves(step, x, shape[-1] // 2, len(shape) - 1)
        turned = step.make("Concat", step.make("Neg", second), first, axis=len(shape) - 1)
    step.give("Add", step.make("Mul", x, step.x(1)), step.make("Mul", turned, step.x(2)))


def _halves(step: NodeWriter, name: str, half: int, axis: int) -> tuple[str, str]:
    """Both halves of a value along an axis."""
    first, second = (
        step.make("Slice", name, step.constant([start]), step.constant([start + half]), step.constant([axis])) for start in (0, half)
    )
    return first, second

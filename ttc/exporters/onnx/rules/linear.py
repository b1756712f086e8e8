"""Products of matrices and determinants."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.kernels.epilogue import activation_attrs
from ttc.exporters.onnx.rules import NODE_RULES
from ttc.exporters.onnx.rules.elementwise import activate
from ttc.exporters.onnx.writer import NodeWriter, element_type

NODE_RULES.refuse("ONNX has no product with matrices chosen by index", "grouped_matmul")


@NODE_RULES.rule("matmul")
def matmul(step: NodeWriter) -> None:
    """Write a product: Gemm of two matrices and a bias, else MatMul and an addition."""
    kind = step.attr("activation")
    name = _product(step)
    if kind is None:
        step.give("Identity", name)
        return
    activate(step, name, kind, dict(activation_attrs(kind, tuple(step.attr("activation_args") or ()))))


def _product(step: NodeWriter) -> str:
    flips = [bool(step.attr(f"transpose_{side}")) for side in "ab"]
    floats = step.out_dtype.kind in "fV"
    if floats and step.has(2) and len(step.shape(0)) == len(step.shape(1)) == 2:
        return step.make("Gemm", step.x(0), step.x(1), step.x(2), transA=int(flips[0]), transB=int(flips[1]))
    sides = [_turned(step, index) if flip else step.x(index) for index, flip in enumerate(flips)]
    narrow = not floats and step.out_dtype.itemsize < 4
    if narrow:
        sides = [step.make("Cast", side, to=element_type(np.dtype(np.int32))) for side in sides]
    name = step.make("MatMul", *sides)
    if narrow:
        name = step.make("Cast", name, to=element_type(step.out_dtype))
    return step.make("Add", name, step.x(2)) if step.has(2) else name


def _turned(step: NodeWriter, index: int) -> str:
    rank = len(step.shape(index))
    return step.transposed(step.x(index), (*range(rank - 2), rank - 1, rank - 2), index)


@NODE_RULES.rule("det")
def det(step: NodeWriter) -> None:
    """Write the determinants of matrices."""
    step.give("Det", step.x())

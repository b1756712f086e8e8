"""Ops that give a result whatever their data are: they may run where nobody asked for it."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.spec import STRING, Spec, spec_of
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.base import NNOp

_TOTAL = frozenset(
    f"nn.{name}"
    for name in (
        *("conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d", "matmul", "rotary_embedding"),
        *("attention", "attention_training", "attention_gradient"),
        *("batch_norm", "layer_norm", "rms_norm", "softmax", "log_softmax", "quantize", "dequantize"),
        *("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin", "cumsum", "cumprod", "topk"),
        *("slice", "concat", "split", "pad", "reshape", "transpose", "expand", "repeat", "shape", "fft", "irfft"),
        *("rnn", "gru", "lstm", "lstm_training", "recurrent_gradient"),
    )
)
"""Ops whose kernels refuse no data of static shapes; of recurrent ones those whose sequences have one length."""


def is_total(op: Operation) -> bool:
    """Return whether an op computes its results, of static shapes, from any data: it cannot fail, and changes nothing but its results."""
    if isinstance(op, ConstantOp):
        return True
    specs = [spec_of(value.type) for value in (*op.operands, *op.results)]
    if not isinstance(op, NNOp) or op.regions or not all(_is_plain(spec) for spec in specs):
        return False
    if op.name == "nn.gather":
        return _reads_inside(op)
    if op.name in ("nn.div", "nn.mod"):
        return specs[-1].dtype.kind == "f"
    return getattr(op, "lengths", None) is None and (op.name in _TOTAL or getattr(op, "ELEMENTWISE", False))


def _is_plain(spec: Spec) -> bool:
    return spec.is_static and spec.elements > 0 and spec.dtype != STRING


def _reads_inside(gather: NNOp) -> bool:
    """Return whether its indices are written out, and inside the dimension that they count."""
    x, indices = gather.operands
    owner = indices.owner
    if not isinstance(owner, ConstantOp) or not isinstance(owner.value, LiteralAttr):
        return False
    shape = spec_of(x.type).shape
    size = shape[axis_in(gather.plain_attrs()["axis"], len(shape))]
    return bool(np.all((owner.value.array >= -size) & (owner.value.array < size)))

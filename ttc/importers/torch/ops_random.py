"""Dropout, which passes everything when it does not train; and other ops that draw random numbers, which are refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows


def dropout(b: TorchBuilder, x: SSAValue, p: float, train: bool) -> SSAValue:
    if not train or p == 0:
        return x
    if p == 1:
        return b.nn("mul", x, b.scalar(0, x))
    return b.dropout(x, p)


def native_dropout(b: TorchBuilder, x: SSAValue, p: float, train: bool | None) -> tuple[SSAValue, SSAValue]:
    """With the mask of what is kept."""
    kept = train is False or p == 0
    y = dropout(b, x, p, not kept)
    if not kept and 0 < p < 1 and len(b.outputs) > 1 and b.outputs[1]:
        raise Unsupported("the mask of what a dropout keeps")
    mask = b.constant(np.array(kept))
    return y, b.nn("expand", mask, shape=b.shape(x)) if b.shape(x) else mask


def random(b: TorchBuilder, *_arguments: Any, **_options: Any) -> SSAValue:
    raise Unsupported("random numbers")


_DRAWN = (
    "bernoulli cauchy exponential geometric log_normal multinomial poisson rand rand_like randint_like randn randn_like randperm uniform"
)
_KINDS = {
    "bernoulli": ("p", "Tensor"),
    "normal": ("Tensor_Tensor", "Tensor_float", "float_Tensor", "float_float"),
    "randint": ("default", "low"),
    "randint_like": ("low_dtype",),
}

ROWS: Rows = {
    "aten.dropout.default": dropout,
    "aten.native_dropout.default": native_dropout,
    **{f"aten.{name}.default": random for name in (*_DRAWN.split(), "uniform", "normal_functional", "rrelu_with_noise_functional")},
    **{f"aten.{name}.{kind}": random for name, kinds in _KINDS.items() for kind in kinds},
}

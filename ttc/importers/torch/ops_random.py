"""Dropouts, which pass everything when they do not train, and draws of zeros and ones; others that draw random numbers are refused.

Each is made of `nn.dropout`, which evaluation leaves out, and computes in evaluation what PyTorch's op computes there: a draw of zeros
and ones, which PyTorch has none of in evaluation, is its mean then, so that layers which divide by it pass everything, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.making import filled
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows

NEGATIVE = -1.7580993408473766
"""The value of SELU for the least of inputs, which alpha dropout writes over what it drops."""


def dropout(b: TorchBuilder, x: SSAValue, p: float, train: bool) -> SSAValue:
    if not train or p == 0:
        return x
    if p == 1:
        return b.nn("mul", x, b.scalar(0, x))
    return b.dropout(x, p)


def feature_dropout(b: TorchBuilder, x: SSAValue, p: float, train: bool) -> SSAValue:
    """Return x[n, c, ...] with whole channels dropped."""
    if not train or p in (0, 1):
        return dropout(b, x, p, train)
    return b.nn("mul", x, _Drawn(b, x, channels(b, x), p).chosen(0, 1 / (1 - p), evaluated=1))


def alpha_dropout(b: TorchBuilder, x: SSAValue, p: float, train: bool) -> SSAValue:
    """Return elements of x set to `NEGATIVE`, all then scaled and shifted, which keeps a mean of 0 and a variance of 1."""
    return _alpha(b, x, p, train, b.shape(x))


def feature_alpha_dropout(b: TorchBuilder, x: SSAValue, p: float, train: bool) -> SSAValue:
    """Return x[n, c, ...] under alpha dropout of whole channels."""
    return _alpha(b, x, p, train, channels(b, x))


def _alpha(b: TorchBuilder, x: SSAValue, p: float, train: bool, shape: tuple[int, ...]) -> SSAValue:
    if not train or p in (0, 1):
        return dropout(b, x, p, train)
    scale = ((NEGATIVE**2 * p + 1) * (1 - p)) ** -0.5
    shift = -NEGATIVE * scale * p
    drawn = _Drawn(b, x, shape, p)
    return b.nn("add", b.nn("mul", x, drawn.chosen(0, scale, evaluated=1)), drawn.chosen(shift + NEGATIVE * scale, shift, evaluated=0))


def bernoulli(b: TorchBuilder, x: SSAValue, p: float) -> SSAValue:
    """Return ones with probability p, of the dtype and shape of x, else zeros; in evaluation all are p."""
    if p in (0, 1):
        return filled(b, float(p), x)
    return _Drawn(b, x, b.shape(x), 1 - p).chosen(0, 1, evaluated=p)


def channels(b: TorchBuilder, x: SSAValue) -> tuple[int, ...]:
    """Return sizes of what is drawn for each channel of x[n, c, ...]: [n, c, 1, ...].  Raises E0402 where there are no channels."""
    shape = b.shape(x)
    if len(shape) < 2:
        raise Error("E0402", f"dropout of whole channels of a tensor of rank {len(shape)}", where=b.place_name)
    return (*shape[:2], *(1 for _ in shape[2:]))


class _Drawn:
    """What a dropout makes of ones in float32: 0 of those it drops, more than 1 of those it keeps, and 1 in evaluation.

    like: has the dtype of numbers that are chosen by it.
    """

    def __init__(self, b: TorchBuilder, like: SSAValue, shape: tuple[int, ...], p: float) -> None:
        one = b.constant(np.ones((), np.float32))
        self._b, self._like = b, like
        self._drawn = b.dropout(b.nn("expand", one, shape=shape) if shape else one, p)

    def chosen(self, dropped: float, kept: float, *, evaluated: float) -> SSAValue:
        """Return the number for each element: of what is dropped, of what is kept, and of all in evaluation."""
        b = self._b
        found = b.scalar(kept, self._like)
        for drawn, number in ((1, evaluated), (0, dropped)):
            found = b.nn("where", b.nn("equal", self._drawn, b.scalar(drawn, self._drawn)), b.scalar(number, self._like), found)
        return found


def native_dropout(b: TorchBuilder, x: SSAValue, p: float, train: bool | None) -> tuple[SSAValue, SSAValue]:
    """Return a dropout, and the mask of what is kept."""
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
    "bernoulli": ("Tensor",),
    "normal": ("Tensor_Tensor", "Tensor_float", "float_Tensor", "float_float"),
    "randint": ("default", "low"),
    "randint_like": ("low_dtype",),
}

ROWS: Rows = {
    "aten.dropout.default": dropout,
    "aten.native_dropout.default": native_dropout,
    "ttc.feature_dropout.default": feature_dropout,
    "ttc.alpha_dropout.default": alpha_dropout,
    "ttc.feature_alpha_dropout.default": feature_alpha_dropout,
    "aten.bernoulli.p": bernoulli,
    **{f"aten.{name}.default": random for name in (*_DRAWN.split(), "uniform", "normal_functional", "rrelu_with_noise_functional")},
    **{f"aten.{name}.{kind}": random for name, kinds in _KINDS.items() for kind in kinds},
}

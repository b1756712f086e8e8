"""Steps of optimizers, of ONNX's domain for training: new values of parameters from their gradients, and of what the optimizer keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.tables import MAPPINGS

Step: TypeAlias = Callable[[SSAValue, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]


@MAPPINGS.rule("ai.onnx.preview.training.Adagrad-1")
def adagrad_1(
    b: Builder,
    rate: SSAValue,
    step: SSAValue,
    *tensors: SSAValue,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[SSAValue, ...]:
    """Update by Adagrad: h' = h + g g; x' = x - rate / (1 + step decay) g / (sqrt h' + epsilon)."""

    def update(x: SSAValue, g: SSAValue, kept: Sequence[SSAValue]) -> Sequence[SSAValue]:
        slowed = b.nn("add", b.scalar(1, x), b.nn("mul", b.cast(b.reshape(step), b.dtype(x)), b.scalar(decay_factor, x)))
        h = b.nn("add", kept[0], b.nn("mul", g, g))
        root = b.nn("add", b.nn("sqrt", h), b.scalar(epsilon, x))
        scaled = b.nn("mul", b.nn("div", b.cast(b.reshape(rate), b.dtype(x)), slowed), g)
        return b.nn("sub", x, b.nn("div", scaled, root)), h

    return _each(b, tensors, 1, norm_coefficient, update)


@MAPPINGS.rule("ai.onnx.preview.training.Adam-1")
def adam_1(
    b: Builder,
    rate: SSAValue,
    step: SSAValue,
    *tensors: SSAValue,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[SSAValue, ...]:
    """Update by Adam: v' = alpha v + (1 - alpha) g; h' = beta h + (1 - beta) g g; x' = x - rate' v' / (sqrt h' + epsilon), corrected from
    step 1 on.
    """

    def update(x: SSAValue, g: SSAValue, kept: Sequence[SSAValue]) -> Sequence[SSAValue]:
        v, h = _mixed(b, kept[0], g, alpha), _mixed(b, kept[1], b.nn("mul", g, g), beta)
        time, pace = b.cast(b.reshape(step), b.dtype(x)), b.cast(b.reshape(rate), b.dtype(x))
        rest = [b.nn("sub", b.scalar(1, x), b.nn("pow", b.scalar(base, x), time)) for base in (alpha, beta)]
        corrected = b.nn("div", b.nn("mul", pace, b.nn("sqrt", rest[1])), rest[0])
        pace = b.nn("where", b.nn("greater", time, b.scalar(0, x)), corrected, pace)
        root = b.nn("add", b.nn("sqrt", h), b.scalar(epsilon, x))
        moved = b.nn("sub", x, b.nn("mul", pace, b.nn("div", v, root)))
        return b.nn("mul", moved, b.scalar(1 - norm_coefficient_post, x)), v, h

    return _each(b, tensors, 2, norm_coefficient, update)


@MAPPINGS.rule("ai.onnx.preview.training.Momentum-1")
def momentum_1(
    b: Builder,
    rate: SSAValue,
    step: SSAValue,
    *tensors: SSAValue,
    alpha: float,
    beta: float,
    mode: str,
    norm_coefficient: float,
) -> tuple[SSAValue, ...]:
    """Update by momentum: v' = alpha v + beta g, at step 0 + g; x' = x - rate v', or with Nesterov's x - rate (g + alpha v')."""
    if mode not in ("standard", "nesterov"):
        raise Error("E0402", f"mode '{mode[:20]}' is unknown")

    def update(x: SSAValue, g: SSAValue, kept: Sequence[SSAValue]) -> Sequence[SSAValue]:
        started = b.nn("greater", b.reshape(step), b.scalar(0, step))
        share = b.nn("where", started, b.scalar(beta, x), b.scalar(1, x))
        v = b.nn("add", b.nn("mul", kept[0], b.scalar(alpha, x)), b.nn("mul", g, share))
        way = v if mode == "standard" else b.nn("add", g, b.nn("mul", v, b.scalar(alpha, x)))
        return b.nn("sub", x, b.nn("mul", b.cast(b.reshape(rate), b.dtype(x)), way)), v

    return _each(b, tensors, 1, norm_coefficient, update)


def _mixed(b: Builder, old: SSAValue, new: SSAValue, share: float) -> SSAValue:
    rest = float(np.float32(1) - np.float32(share))
    return b.nn("add", b.nn("mul", old, b.scalar(share, old)), b.nn("mul", new, b.scalar(rest, new)))


def _each(b: Builder, tensors: tuple[SSAValue, ...], kept: int, norm: float, update: Step) -> tuple[SSAValue, ...]:
    """Operands and results come by kind: all parameters, all gradients (operands alone), all that is kept.  Raises E0203."""
    count, rest = divmod(len(tensors), 2 + kept)
    if rest or not count:
        raise Error("E0203", f"{len(tensors)} tensors are not parameters, gradients and {kept} more each")
    kinds = [tensors[i * count : (i + 1) * count] for i in range(2 + kept)]
    found: list[Sequence[SSAValue]] = []
    for x, g, *states in zip(*kinds, strict=True):
        found.append(update(x, b.nn("add", b.nn("mul", x, b.scalar(norm, x)), g) if norm else g, states))
    return tuple(value for kind in zip(*found, strict=True) for value in kind)

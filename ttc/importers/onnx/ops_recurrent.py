"""Recurrent layers.  Layout 1, batch first, is transposed; activations get their parameters by name.

output_sequence, up to opset 6, says whether the first result is used: that is seen from the node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.tables import MAPPINGS

Floats: TypeAlias = tuple[float, ...]
Strings: TypeAlias = tuple[str, ...]

ALPHAS = {"leakyrelu": 0.01, "thresholdedrelu": 1.0, "hardsigmoid": 0.2, "elu": 1.0, "affine": 1.0, "scaledtanh": 1.0}
BETAS = {"hardsigmoid": 0.5, "affine": 0.0, "scaledtanh": 1.0}
"""The default second parameters of the activations that have one."""


NO_CLIP = float("inf")


class _Options(NamedTuple):
    """Attributes that all recurrent layers have, as in ONNX.  activations: of one direction at least."""

    activations: Strings
    alphas: Floats
    betas: Floats
    clip: float
    direction: str
    hidden_size: int
    layout: int


@MAPPINGS.rule("RNN-1")
def rnn_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    r: SSAValue,
    bias: SSAValue | None = None,
    lengths: SSAValue | None = None,
    h: SSAValue | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = ("Tanh", "Tanh"),
    clip: float = NO_CLIP,
    direction: str = "forward",
    hidden_size: int = 0,
    layout: int = 0,
    output_sequence: int = 1,
) -> tuple[SSAValue, ...]:
    options = _Options(activations, activation_alpha, activation_beta, clip, direction, hidden_size, layout)
    return _layer(b, "rnn", (x, w, r, bias, lengths, h), options, {})


@MAPPINGS.rule("GRU-1")
def gru_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    r: SSAValue,
    bias: SSAValue | None = None,
    lengths: SSAValue | None = None,
    h: SSAValue | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float = NO_CLIP,
    direction: str = "forward",
    hidden_size: int = 0,
    linear_before_reset: int = 0,
    layout: int = 0,
    output_sequence: int = 1,
) -> tuple[SSAValue, ...]:
    options = _Options(activations or ("Sigmoid", "Tanh") * 2, activation_alpha, activation_beta, clip, direction, hidden_size, layout)
    return _layer(b, "gru", (x, w, r, bias, lengths, h), options, {"linear_before_reset": bool(linear_before_reset)})


@MAPPINGS.rule("LSTM-1")
def lstm_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    r: SSAValue,
    bias: SSAValue | None = None,
    lengths: SSAValue | None = None,
    h: SSAValue | None = None,
    c: SSAValue | None = None,
    peepholes: SSAValue | None = None,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float = NO_CLIP,
    direction: str = "forward",
    hidden_size: int = 0,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 1,
) -> tuple[SSAValue, ...]:
    options = _Options(
        activations or ("Sigmoid", "Tanh", "Tanh") * 2, activation_alpha, activation_beta, clip, direction, hidden_size, layout
    )
    return _layer(b, "lstm", (x, w, r, bias, lengths, h, c, peepholes), options, {"input_forget": bool(input_forget)})


def _layer(b: Builder, op: str, operands: tuple[SSAValue | None, ...], options: _Options, own: dict[str, bool]) -> tuple[SSAValue, ...]:
    """Return the layer and, for layout 1, the transposes around it.  Activations of a second direction are dropped where there is none."""
    x, w, r, bias, lengths, *states = operands
    if r is None or x is None or (options.hidden_size and options.hidden_size != b.shape(r)[-1]):
        raise Error("E0401", f"hidden_size {options.hidden_size} is not that of the recurrent weights")
    each = {"rnn": 1, "gru": 2, "lstm": 3}[op]
    names = tuple(name.lower() for name in options.activations)[: each * (2 if options.direction == "bidirectional" else 1)]
    swapped = options.layout != 0
    results = b.nn_all(
        op,
        _swapped(b, x) if swapped else x,
        w,
        r,
        bias,
        lengths,
        *[_swapped(b, v) if swapped and v is not None and i < 2 else v for i, v in enumerate(states)],
        direction=options.direction,
        activations=names,
        alphas=_parameters(names, iter(options.alphas), ALPHAS),
        betas=_parameters(names, iter(options.betas), BETAS),
        clip=options.clip,
        **own,
    )
    if not swapped:
        return results
    y, *ends = results
    return b.nn("transpose", y, perm=(2, 0, 1, 3)), *(_swapped(b, end) for end in ends)


def _swapped(b: Builder, value: SSAValue) -> SSAValue:
    """Return the first two of three dimensions in the other order."""
    if b.rank(value) != 3:
        raise Error("E0401", f"takes rank 3, not {b.spec(value)}")
    return b.nn("transpose", value, perm=(1, 0, 2))


def _parameters(names: Strings, given: Iterator[float], defaults: dict[str, float]) -> Floats:
    """Return one an activation: the next one given to those that take one, else its default."""
    return tuple(next(given, defaults[name]) if name in defaults else 0.0 for name in names)

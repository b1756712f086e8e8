"""A case of every op that has a gradient rule: operands and attributes at which a wrong rule shows in differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.dialects.nn.gradients.test_against_torch import BINARY, IMAGES, INSIDE, KINKS, REDUCTIONS, SHAPES, TIED, UNARY, Case
from ttc.dialects.nn.gradients.host_call import GRADIENT
from ttc.dialects.nn.kernels.host_call import HostFunction

Operand = tuple[int, ...] | np.ndarray | None
Planted = tuple[list[Operand], dict[str, Any]]
"""Operands, of which those that are shapes are drawn, and attributes."""
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 5.0, -1.0], [0.5, -1.0, 6.0]])
SEED = np.array(7)
RECURRENT = {"direction": "forward", "clip": float("inf")}
RESIZED = {"coordinates": "half_pixel", "rounding": "round_prefer_floor", "cubic": -0.75, "exclude_outside": False, "antialias": False}

HOSTED: dict[str, HostFunction] = {
    "planted sine": lambda xs, count: [np.sin(xs[0])],
    f"planted sine{GRADIENT}": lambda xs, count: [np.cos(xs[0]) * xs[1]],
}
"""Functions that the case of nn.host_call needs, by name."""


def _layer(gates: int, *activations: str, **attrs: Any) -> Planted:
    """A recurrent layer of 3 steps, 2 samples, 4 features and 3 states, which begins at states of its own."""
    zeros = (0.0,) * len(activations)
    weights: list[Operand] = [(1, 3 * gates, 4), (1, 3 * gates, 3), (1, 6 * gates)]
    starts: list[Operand] = [(1, 2, 3)] * (2 if gates == 4 else 1)
    operands: list[Operand] = [(3, 2, 4), *weights, np.array([3, 2]), *starts]
    return operands, {**RECURRENT, "activations": activations, "alphas": zeros, "betas": zeros, **attrs}


_LSTM: Planted = ([*_layer(4, "sigmoid", "tanh", "tanh")[0], (1, 9)], _layer(4, "sigmoid", "tanh", "tanh", input_forget=False)[1])
_OWN: dict[str, Planted] = {
    **{f"nn.{name}": ([INSIDE * 2.6], {}) for name in ("ceil", "floor", "round", "sign")},
    **{f"nn.{name}": ([(3, 4), (4,)], {}) for name in ("maximum", "minimum", "mul")},
    "nn.batch_norm_training": ([(4, 3, 2), (3,), (3,), (3,), np.ones(3)], {"eps": 1e-3, "axis": 1, "momentum": 0.2, "unbiased": True}),
    "nn.cast": ([(3, 4)], {"dtype": np.dtype(np.float32)}),
    "nn.host_call": ([(2, 3)], {"function": "planted sine", "count": 1, "types": ("float64:2x3",)}),
    "nn.cholesky": ([SQUARE], {}),
    "nn.concat": ([(2, 3), (2, 1)], {"axis": 1}),
    "nn.dequantize": ([np.arange(12, dtype=np.int8).reshape(3, 4), np.full((1, 4), 0.5), np.full((1, 4), 3, np.int8)], {}),
    "nn.dropout": ([(5, 6), SEED, SEED], {"p": 0.4, "stream": 1}),
    "nn.eigh": ([SQUARE], {}),
    "nn.fft": ([(3, 5), (3, 5)], {"axis": 1, "size": 6, "inverse": False, "onesided": False}),
    "nn.grouped_matmul": ([(5, 3), (2, 3, 4), np.array([0, 1, 1, 0, 1])], {"transpose_w": False}),
    "nn.gru": _layer(3, "sigmoid", "tanh", linear_before_reset=True),
    "nn.irfft": ([(3, 4), (3, 4)], {"axis": 1, "size": 6}),
    **dict.fromkeys(("nn.lstm", "nn.lstm_training"), _LSTM),
    "nn.lu": ([SQUARE[[1, 2, 0]]], {}),
    "nn.pow": ([INSIDE + 2, INSIDE], {}),
    "nn.probe": ([(3, 4)], {"label": "x"}),
    "nn.require": ([(3, 4), np.array(True)], {"wanted": True, "message": "never"}),
    "nn.resize": (
        [(1, 1, 3, 4)],
        {
            **RESIZED,
            "sizes": (1, 1, 5, 7),
            "scales": (1.0, 1.0, 5 / 3, 7 / 4),
            "window": (0.0,) * 4 + (1.0,) * 4,
            "mode": "cubic",
            "fill": 0.0,
        },
    ),
    "nn.reverse_sequence": ([(4, 3, 2), np.array([2, 4, 3])], {"time_axis": 0, "batch_axis": 1}),
    "nn.rnn": _layer(1, "tanh"),
    "nn.rotary_embedding": ([(2, 3, 4), (3, 4), (3, 4)], {"interleaved": False}),
    "nn.svd": ([SQUARE], {"full": False}),
}


def _smooth(value: Operand) -> Operand:
    """An operand of a case as numbers that are drawn, if it is one of those that lie at kinks or are equal."""
    return next((ties.shape for ties in (KINKS, TIED) if value is ties), value)


def _others() -> dict[str, Planted]:
    """The first case of each op that is compared with PyTorch."""
    every: list[Case] = [*UNARY, *BINARY, *REDUCTIONS, *SHAPES, *IMAGES]
    return {name: ([_smooth(value) for value in given], attrs) for name, given, attrs, _ in reversed(every)}


CASES: dict[str, Planted] = {**_others(), **_OWN}

"""Tile ops of recurrent layers against cells by hand; variants are those of the nn ops, whose kernels they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.draws import generator, rng_of_test
from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.base import twin

X = generator("tile_recurrent.X").standard_normal((2, 3, 4)).astype(np.float32)


def attrs(functions: int, **extra: Any) -> dict[str, Any]:
    names = (*("sigmoid",) * (functions > 1), *("tanh",) * (functions - (functions > 1)))
    zeros = (0.0,) * functions
    return {"direction": "forward", "activations": names, "alphas": zeros, "betas": zeros, "clip": float("inf"), **extra}


def weights(gates: int) -> tuple[Any, Any]:
    rng = rng_of_test()
    return rng.standard_normal((1, gates * 5, 4)).astype(np.float32), rng.standard_normal((1, gates * 5, 5)).astype(np.float32)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def test_rnn() -> None:
    w, r = weights(1)
    first = np.tanh(X[0] @ w[0].T)
    second = np.tanh(X[1] @ w[0].T + first @ r[0].T)
    check_op(twin("rnn"), [X, w, r, None, None, None], attrs(1), np.stack([first, second])[:, None], tolerance=1e-5)


def test_gru() -> None:
    w, r = weights(3)
    gates = X[:1] @ w[0].T
    update, new = sigmoid(gates[..., :5]), np.tanh(gates[..., 10:])
    check_op(
        twin("gru"), [X[:1], w, r, None, None, None], attrs(2, linear_before_reset=False), ((1 - update) * new)[:, None], tolerance=1e-5
    )


def test_lstm() -> None:
    w, r = weights(4)
    enter, leave, _, new = np.split(X[:1] @ w[0].T, 4, axis=-1)
    expected = sigmoid(leave) * np.tanh(sigmoid(enter) * np.tanh(new))
    check_op(twin("lstm"), [X[:1], w, r, *[None] * 5], attrs(3, input_forget=False), expected[:, None], tolerance=1e-5)


def test_lstm_in_training() -> None:
    w, r = weights(4)
    gates = X[:1] @ w[0].T
    enter, _, _, new = np.split(gates, 4, axis=-1)
    operands, given = [X[:1], w, r, *[None] * 5], attrs(3, input_forget=False)
    check_op(twin("lstm_training"), operands, given, gates[:, None], tolerance=1e-5, result=3)
    check_op(twin("lstm_training"), operands, given, (sigmoid(enter) * np.tanh(new))[:, None], tolerance=1e-5, result=4)


def test_gradient() -> None:
    rng = rng_of_test()
    factors, r, dy, ends = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 5), (5, 5), (2, 3, 5), (1, 3, 5)))
    last = factors[1] * (ends[0] + dy[1])
    first = factors[0] * (last @ r + dy[0])
    given = {"sources": (0,), "targets": (2,), "sums": 1, "inner": 0, "reverse": False}
    check_op(twin("recurrent_gradient"), [factors, r, dy, ends], given, np.stack([first, last]), tolerance=1e-5)
    check_op(twin("recurrent_gradient"), [factors, r, dy, ends], given, (first @ r)[None], tolerance=1e-5, result=1)


def test_what_does_not_fit() -> None:
    check_error(twin("rnn"), [(2, 3, 4), (1, 5, 4), (1, 6, 5), None, None, None], attrs(1), "E0401")
    check_error(twin("gru"), [(2, 3, 4), (1, 15, 4), (1, 15, 5), None, None, None], attrs(1, linear_before_reset=False), "E0402")

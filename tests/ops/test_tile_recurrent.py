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


def test_what_does_not_fit() -> None:
    check_error(twin("rnn"), [(2, 3, 4), (1, 5, 4), (1, 6, 5), None, None, None], attrs(1), "E0401")
    check_error(twin("gru"), [(2, 3, 4), (1, 15, 4), (1, 15, 5), None, None, None], attrs(1, linear_before_reset=False), "E0402")

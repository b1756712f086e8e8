"""Softmax, normalizations and attention on tiles, against their definitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.attention import AttentionOp
from ttc.dialects.tile.base import twin

X = generator("tile_norm.X").standard_normal((2, 3, 8)).astype(np.float32)
SCALE = generator("tile_norm.SCALE").standard_normal(8).astype(np.float32)
BIAS = generator("tile_norm.BIAS").standard_normal(8).astype(np.float32)


def softmax(x: NDArray) -> NDArray:
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def test_softmax() -> None:
    check_op(twin("softmax"), [X], {"axis": -1}, softmax(X), 1e-6)
    check_op(twin("log_softmax"), [X], {"axis": 2}, np.log(softmax(X)), 1e-6)
    check_error(twin("softmax"), [(2, 3)], {"axis": 2}, "E0412")


def test_layer_norm() -> None:
    centred = X - X.mean(axis=-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 0.1)
    check_op(twin("layer_norm"), [X, SCALE, BIAS], {"axis": -1, "eps": 0.1}, y * SCALE + BIAS, 1e-6)
    check_op(twin("layer_norm"), [X, None, None], {"axis": 2, "eps": 0.1}, y, 1e-6)
    check_error(twin("layer_norm"), [(2, 3), (4,), None], {"axis": -1, "eps": 0.1}, "E0401")
    check_error(twin("layer_norm"), [(2, 3), None, None], {"axis": -3, "eps": 0.1}, "E0412")


def test_rms_norm() -> None:
    y = X / np.sqrt((X**2).mean(axis=-1, keepdims=True) + 0.1) * SCALE
    check_op(twin("rms_norm"), [X, SCALE], {"axis": -1, "eps": 0.1}, y, 1e-6)


def test_attention(rng: np.random.Generator) -> None:
    q, k, v = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6)))
    mask = rng.standard_normal((2, 1, 1, 5)).astype(np.float32)
    y = softmax(q @ np.swapaxes(k, -1, -2) * 0.5 + mask) @ v
    check_op(AttentionOp, [q, k, v, mask], {"scale": 0.5, "zero_masked": False}, y, 1e-6)
    masked = np.full((5,), -np.inf, np.float32)
    check_op(AttentionOp, [q, k, v, masked], {"scale": 0.5, "zero_masked": True}, np.zeros_like(y))
    check_error(AttentionOp, [(3, 4, 8), (3, 5, 7), (3, 5, 6), None], {"scale": 1.0, "zero_masked": False}, "E0401")


def test_attention_in_training(rng: np.random.Generator) -> None:
    q, k, v, dy = (rng.standard_normal(s).astype(np.float32) for s in ((2, 4, 8), (2, 5, 8), (2, 5, 6), (2, 4, 6)))
    mask = rng.standard_normal((4, 5)).astype(np.float32)
    scores = q @ np.swapaxes(k, -1, -2) * 0.5 + mask
    p, log_sums = softmax(scores), np.log(np.exp(scores).sum(axis=-1))
    for result, expected in enumerate((p @ v, log_sums)):
        given = {"scale": 0.5, "zero_masked": False}
        check_op(twin("attention_training"), [q, k, v, mask], given, expected, 1e-5, result=result)
    r = p * (dy @ np.swapaxes(v, -1, -2) - (dy * (p @ v)).sum(axis=-1, keepdims=True))
    gradients = (r @ k * 0.5, np.swapaxes(r, -1, -2) @ q * 0.5, np.swapaxes(p, -1, -2) @ dy)
    for result, expected in enumerate(gradients):
        check_op(twin("attention_gradient"), [q, k, v, p @ v, log_sums, dy, mask], {"scale": 0.5}, expected, 1e-5, result=result)

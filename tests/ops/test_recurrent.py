"""Recurrent layers against torch where it has the variant, and against the formulas of single steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import generator, rng_of_test
from tests.ops.cases import check_error, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.recurrent import GruOp, LstmOp, LstmTrainingOp, RecurrentGradientOp, RnnOp
from ttc.dialects.nn.shapes.recurrent import ACTIVATIONS

pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import torch  # noqa: E402

STEPS, SAMPLES, FEATURES, HIDDEN = 5, 3, 4, 6
X = generator("recurrent.X").standard_normal((STEPS, SAMPLES, FEATURES)).astype(np.float32)
NAMES = {RnnOp: ("tanh",), GruOp: ("sigmoid", "tanh"), LstmOp: ("sigmoid", "tanh", "tanh")}
GATES = {RnnOp: 1, GruOp: 3, LstmOp: 4}
ORDER = {RnnOp: [0], GruOp: [1, 0, 2], LstmOp: [0, 2, 3, 1]}
"""torch's gate i is ours of that number."""
OWN = {RnnOp: {}, GruOp: {"linear_before_reset": True}, LstmOp: {"input_forget": False}}


def normal(*shape: int) -> np.ndarray:
    return rng_of_test().standard_normal(shape).astype(np.float32)


def attrs(op_class: Any, direction: str = "forward", **changes: Any) -> dict[str, Any]:
    names = NAMES[op_class] * (2 if direction == "bidirectional" else 1)
    zeros = (0.0,) * len(names)
    base = {"direction": direction, "activations": names, "alphas": zeros, "betas": zeros, "clip": float("inf")}
    return {**base, **OWN[op_class], **changes}


def weights(op_class: Any, directions: int = 1) -> list[np.ndarray]:
    gates = GATES[op_class]
    return [normal(directions, gates * HIDDEN, n) for n in (FEATURES, HIDDEN)] + [normal(directions, 2 * gates * HIDDEN)]


def torch_layer(op_class: Any, w: np.ndarray, r: np.ndarray, bias: np.ndarray) -> torch.nn.RNNBase:
    kind = {RnnOp: torch.nn.RNN, GruOp: torch.nn.GRU, LstmOp: torch.nn.LSTM}[op_class]
    layer = kind(FEATURES, HIDDEN, bidirectional=len(w) == 2)
    values: list[np.ndarray] = []
    for d in range(len(w)):
        for part in (w[d], r[d], *np.split(bias[d], 2)):
            gates = np.split(part, GATES[op_class])
            values.append(np.concatenate([gates[i] for i in ORDER[op_class]]))
    for parameter, value in zip(layer.parameters(), values, strict=True):
        parameter.data = torch.from_numpy(value)
    return layer


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("op_class", [RnnOp, GruOp, LstmOp])
def test_like_torch(op_class: Any, direction: str) -> None:
    directions = 2 if direction == "bidirectional" else 1
    w, r, bias = weights(op_class, directions)
    starts = [normal(directions, SAMPLES, HIDDEN) for _ in range(2 if op_class is LstmOp else 1)]
    state = tuple(torch.from_numpy(s) for s in starts)
    with torch.no_grad():
        y, ends = torch_layer(op_class, w, r, bias)(torch.from_numpy(X), state if op_class is LstmOp else state[0])
    ends = [e.numpy() for e in (ends if op_class is LstmOp else (ends,))]
    expected = y.numpy().reshape(STEPS, SAMPLES, directions, HIDDEN).transpose(0, 2, 1, 3)
    operands = [X, w, r, bias, None, *starts, *([None] if op_class is LstmOp else [])]
    check_op(op_class, operands, attrs(op_class, direction), [expected, *ends], 1e-5)


@pytest.mark.parametrize("op_class", [RnnOp, GruOp, LstmOp])
def test_reverse_is_forward_on_reversed_steps(op_class: Any) -> None:
    w, r, bias = weights(op_class)
    absent = [None] * (4 if op_class is LstmOp else 2)
    y, *ends = run_op(op_class, [X[::-1].copy(), w, r, bias, *absent], attrs(op_class))
    check_op(op_class, [X, w, r, bias, *absent], attrs(op_class, "reverse"), [y[::-1], *ends])


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("op_class", [RnnOp, GruOp, LstmOp])
def test_lengths_cut_sequences_off(op_class: Any, direction: str) -> None:
    w, r, _ = weights(op_class)
    absent = [None] * (3 if op_class is LstmOp else 1)
    lengths = np.array([5, 2, 0], np.int32)
    y, *ends = run_op(op_class, [X, w, r, None, lengths, *absent], attrs(op_class, direction))
    for i, length in enumerate(lengths):
        assert not y[length:, :, i].any()
        if length == 0:
            assert not ends[0][:, i].any()
            continue
        alone = run_op(op_class, [X[:length, i : i + 1], w, r, None, None, *absent], attrs(op_class, direction))
        np.testing.assert_allclose(y[:length, :, i : i + 1], alone[0], atol=1e-6)
        for end, wanted in zip(ends, alone[1:], strict=True):
            np.testing.assert_allclose(end[:, i : i + 1], wanted, atol=1e-6)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_gru_that_resets_before_the_product() -> None:
    w, r, bias = weights(GruOp)
    h = normal(1, SAMPLES, HIDDEN)
    (wz, ws, wn), (rz, rs, rn) = np.split(w[0], 3), np.split(r[0], 3)
    bz, bs, bn, cz, cs, cn = np.split(bias[0], 6)
    z = sigmoid(X[0] @ wz.T + h[0] @ rz.T + bz + cz)
    s = sigmoid(X[0] @ ws.T + h[0] @ rs.T + bs + cs)
    n = np.tanh(X[0] @ wn.T + (s * h[0]) @ rn.T + bn + cn)
    y = ((1 - z) * n + z * h[0])[None]
    check_op(GruOp, [X[:1], w, r, bias, None, h], attrs(GruOp, linear_before_reset=False), [y[None], y], 1e-5)


@pytest.mark.parametrize("coupled", [False, True])
def test_lstm_with_peepholes(coupled: bool) -> None:
    w, r, bias = weights(LstmOp)
    h, c, p = normal(1, SAMPLES, HIDDEN), normal(1, SAMPLES, HIDDEN), normal(1, 3 * HIDDEN)
    pi, po, pf = np.split(p[0], 3)
    gates = X[0] @ w[0].T + h[0] @ r[0].T + sum(np.split(bias[0], 2))
    i, o, f, n = np.split(gates, 4, axis=1)
    i = sigmoid(i + pi * c[0])
    f = 1 - i if coupled else sigmoid(f + pf * c[0])
    new = f * c[0] + i * np.tanh(n)
    y = (sigmoid(o + po * new) * np.tanh(new))[None]
    check_op(LstmOp, [X[:1], w, r, bias, None, h, c, p], attrs(LstmOp, input_forget=coupled), [y[None], y, new[None]], 1e-5)


FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "affine": lambda x: 0.3 * x + 0.7,
    "leakyrelu": lambda x: np.where(x >= 0, x, 0.3 * x),
    "thresholdedrelu": lambda x: np.where(x >= 0.3, x, 0),
    "scaledtanh": lambda x: 0.3 * np.tanh(0.7 * x),
    "hardsigmoid": lambda x: np.clip(0.3 * x + 0.7, 0, 1),
    "elu": lambda x: np.where(x >= 0, x, 0.3 * np.expm1(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    w, r, _ = weights(RnnOp)
    changes = {"activations": (name,), "alphas": (0.3,), "betas": (0.7,)}
    y = FORMULAS[name](X[:1] @ w[0].T).astype(np.float32)
    check_op(RnnOp, [X[:1], w, r, None, None, None], attrs(RnnOp, **changes), [y[None], y], 1e-5)


def test_clip_limits_what_activations_see() -> None:
    w, r, _ = weights(RnnOp)
    y = np.clip(X[:1] @ w[0].T, -0.25, 0.25)
    changes = {"activations": ("affine",), "alphas": (1.0,), "clip": 0.25}
    check_op(RnnOp, [X[:1], w, r, None, None, None], attrs(RnnOp, **changes), [y[None], y], 1e-6)


def specs(op_class: Any, **changes: Any) -> list[Any]:
    gates = GATES[op_class]
    operands = {
        "x": spec(STEPS, SAMPLES, FEATURES),
        "w": spec(1, gates * HIDDEN, FEATURES),
        "r": spec(1, gates * HIDDEN, HIDDEN),
        "bias": None,
        "lengths": None,
        "h": None,
    }
    return list({**operands, **changes}.values())


@pytest.mark.parametrize(
    ("code", "op_class", "operands", "changes"),
    [
        ("E0402", RnnOp, {}, {"direction": "sideways"}),
        ("E0402", RnnOp, {}, {"activations": ("tan",)}),
        ("E0402", RnnOp, {}, {"activations": ("tanh", "tanh")}),
        ("E0402", RnnOp, {}, {"clip": 0.0}),
        ("E0401", RnnOp, {"w": spec(2, HIDDEN, FEATURES)}, {}),
        ("E0401", GruOp, {"r": spec(1, HIDDEN, HIDDEN)}, {}),
        ("E0401", GruOp, {"bias": spec(1, HIDDEN)}, {}),
        ("E0401", GruOp, {"lengths": spec(4, dtype="int32")}, {}),
        ("E0403", GruOp, {"lengths": spec(3)}, {}),
        ("E0401", GruOp, {"h": spec(1, 1, HIDDEN)}, {}),
        ("E0403", RnnOp, {"h": spec(1, SAMPLES, HIDDEN, dtype="float64")}, {}),
        ("E0401", LstmOp, {"c": spec(1, 1, HIDDEN), "p": None}, {}),
        ("E0401", LstmOp, {"c": None, "p": spec(1, HIDDEN)}, {}),
    ],
)
def test_errors(code: str, op_class: type[NNOp], operands: dict[str, Any], changes: dict[str, Any]) -> None:
    check_error(code, op_class, specs(op_class, **operands), attrs(op_class, **changes))


def test_lengths_out_of_range() -> None:
    w, r, _ = weights(RnnOp)
    with pytest.raises(Error) as caught:
        run_op(RnnOp, [X, w, r, None, np.array([1, 6, 2]), None], attrs(RnnOp))
    assert caught.value.code == "E0802"


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [None, [5, 2, 0]], ids=["whole", "lengths"])
def test_lstm_in_training_keeps_sums_and_cells(direction: str, lengths: list[int] | None) -> None:
    directions = 2 if direction == "bidirectional" else 1
    w, r, bias = weights(LstmOp, directions)
    h, c = normal(directions, SAMPLES, HIDDEN), normal(directions, SAMPLES, HIDDEN)
    operands = [X, w, r, bias, None if lengths is None else np.array(lengths, np.int32), h, c, None]
    y, y_h, y_c = run_op(LstmOp, operands, attrs(LstmOp, direction))
    sums = np.zeros((STEPS, directions, SAMPLES, 4 * HIDDEN), np.float32)
    cells = np.zeros((STEPS, directions, SAMPLES, HIDDEN), np.float32)
    for d in range(directions):
        backward = direction == "reverse" or d == 1
        state, cell = h[d], c[d]
        for t in range(STEPS)[:: -1 if backward else 1]:
            sums[t, d] = X[t] @ w[d].T + state @ r[d].T + bias[d, : 4 * HIDDEN] + bias[d, 4 * HIDDEN :]
            enter, leave, forget, new = np.split(sums[t, d], 4, axis=1)
            running = np.ones((SAMPLES, 1), bool) if lengths is None else (t < np.array(lengths))[:, None]
            cell = np.where(running, sigmoid(forget) * cell + sigmoid(enter) * np.tanh(new), cell)
            state = np.where(running, sigmoid(leave) * np.tanh(cell), state)
            cells[t, d] = cell
    check_op(LstmTrainingOp, operands, attrs(LstmOp, direction), [y, y_h, y_c, sums, cells], 1e-5)


def gradient_operands(states: int, sums: int, terms: int, multiplied: int) -> list[np.ndarray]:
    """factors, r, dy and ends of a gradient."""
    shapes = (STEPS, SAMPLES, terms * HIDDEN), (multiplied * HIDDEN, HIDDEN), (STEPS, SAMPLES, HIDDEN), (states, SAMPLES, HIDDEN)
    return [normal(*shape) * np.float32(0.5) for shape in shapes]


@pytest.mark.parametrize("reverse", [False, True])
def test_gradient_goes_back_through_time(reverse: bool) -> None:
    """States h and c, sums a and b: of c also c of the later state h, of a by c, of b by h, of the older c by c; b is not multiplied."""
    factors, r, dy, ends = operands = gradient_operands(2, 2, 4, 1)
    of_sums = np.zeros((STEPS, SAMPLES, 2 * HIDDEN), np.float32)
    of_h, of_c = ends
    for t in range(STEPS)[:: 1 if reverse else -1]:
        to_c, to_a, to_b, to_old = np.split(factors[t], 4, axis=1)
        of_h = of_h + dy[t]
        of_c = of_c + to_c * of_h
        of_sums[t] = np.concatenate([to_a * of_c, to_b * of_h], axis=1)
        of_h, of_c = of_sums[t, :, :HIDDEN] @ r, to_old * of_c
    given = {"sources": (0, 1, 0, 1), "targets": (1, 4, 5, 3), "sums": 2, "inner": 0, "reverse": reverse}
    check_op(RecurrentGradientOp, operands, given, [of_sums, np.stack([of_h, of_c])], 1e-5)


@pytest.mark.parametrize("reverse", [False, True])
def test_gradient_goes_through_a_product_within_a_step(reverse: bool) -> None:
    """One state h, sums a, b and c: of a and c by h, of b and the older h by the product of c's cotangent; a and b meet the older h."""
    factors, r, dy, ends = operands = gradient_operands(1, 3, 4, 3)
    of_sums = np.zeros((STEPS, SAMPLES, 3 * HIDDEN), np.float32)
    (of_h,) = ends
    for t in range(STEPS)[:: 1 if reverse else -1]:
        to_a, to_c, to_b, to_old = np.split(factors[t], 4, axis=1)
        of_h = of_h + dy[t]
        of_kept = (to_c * of_h) @ r[2 * HIDDEN :]
        of_sums[t] = np.concatenate([to_a * of_h, to_b * of_kept, to_c * of_h], axis=1)
        of_h = to_old * of_kept + of_sums[t, :, : 2 * HIDDEN] @ r[: 2 * HIDDEN]
    given = {"sources": (0, 0, 5, 5), "targets": (2, 4, 3, 1), "sums": 3, "inner": 1, "reverse": reverse}
    check_op(RecurrentGradientOp, operands, given, [of_sums, of_h[None]], 1e-5)


@pytest.mark.parametrize(
    ("code", "operands", "changes"),
    [
        ("E0401", {"factors": spec(STEPS, SAMPLES, HIDDEN)}, {}),
        ("E0401", {"r": spec(HIDDEN, HIDDEN + 1)}, {}),
        ("E0401", {"ends": spec(1, SAMPLES + 1, HIDDEN)}, {}),
        ("E0402", {"r": spec(2 * HIDDEN, HIDDEN)}, {}),
        ("E0402", {}, {"sources": (1, 0)}),
        ("E0402", {}, {"targets": (2, 3)}),
        ("E0402", {}, {"targets": (2, 0)}),
        ("E0402", {}, {"targets": (2,)}),
        ("E0402", {}, {"inner": -1}),
        ("E0402", {}, {"inner": 1}),
        ("E0402", {}, {"inner": 2}),
        ("E0402", {}, {"sources": (0, 3)}),
        ("E0402", {}, {"sources": (4, 0), "inner": 1}),
        ("E0402", {}, {"sources": (0, 4), "targets": (3, 0), "inner": 1}),
        ("E0402", {}, {"sources": (0, 4), "targets": (1, 2), "inner": 1}),
        ("E0402", {}, {"sources": (0, 4), "targets": (3, 3), "inner": 1}),
        ("E0402", {}, {"sources": (0, 4), "targets": (3, 4), "inner": 1}),
        ("E0403", {"dy": spec(STEPS, SAMPLES, HIDDEN, dtype="float64")}, {}),
    ],
)
def test_gradients_that_do_not_fit(code: str, operands: dict[str, Any], changes: dict[str, Any]) -> None:
    base = {
        "factors": spec(STEPS, SAMPLES, 2 * HIDDEN),
        "r": spec(HIDDEN, HIDDEN),
        "dy": spec(STEPS, SAMPLES, HIDDEN),
        "ends": spec(1, SAMPLES, HIDDEN),
    }
    given = {"sources": (0, 0), "targets": (2, 1), "sums": 2 if "inner" in changes else 1, "inner": 0, "reverse": False}
    check_error(code, RecurrentGradientOp, list((base | operands).values()), given | changes)

"""Gradients of recurrent layers whose reset gate comes before the product, against such a layer in PyTorch, in float64.

Other cells are compared in whole networks (tests/passes/nn/test_gradients_of_networks.py), and by differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ttc.dialects.nn.gradients.check import evaluate, rule_gradients
from ttc.dialects.nn.recurrent import GruOp

torch: Any = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

FUNCTIONS: dict[str, Any] = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "softplus": torch.nn.functional.softplus}


def attrs(direction: str = "forward", functions: tuple[str, ...] = ("sigmoid", "tanh"), clip: float = float("inf")) -> dict[str, Any]:
    names = functions * (2 if direction == "bidirectional" else 1)
    zeros = (0.0,) * len(names)
    return {
        "direction": direction,
        "activations": names,
        "alphas": zeros,
        "betas": zeros,
        "clip": clip,
        "linear_before_reset": False,
    }


def layer(given: list[Any], found: dict[str, Any]) -> tuple[Any, Any]:
    """Outputs and last states of a layer that PyTorch has not, step by step."""
    x, w, r, bias, lengths, h = given
    steps, size, clip = len(x), r.shape[2], found["clip"]
    outputs, ends = [], []
    for d in range(len(w)):
        f, g = (FUNCTIONS[name] for name in found["activations"][2 * d : 2 * d + 2])
        of_input, of_state = (0, 0) if bias is None else bias[d].chunk(2)
        state = torch.zeros(x.shape[1], size, dtype=x.dtype) if h is None else h[d]
        each: list[Any] = [state] * steps
        backward = found["direction"] == "reverse" or d == 1
        for t in range(steps)[:: -1 if backward else 1]:
            gates, biases = x[t] @ w[d].T + of_input, of_state + torch.zeros(3 * size, dtype=x.dtype)
            both = gates[:, : 2 * size] + state @ r[d, : 2 * size].T + biases[: 2 * size]
            update, reset = f(both.clamp(-clip, clip)).chunk(2, 1)
            new = g((gates[:, 2 * size :] + (reset * state) @ r[d, 2 * size :].T + biases[2 * size :]).clamp(-clip, clip))
            new = (1 - update) * new + update * state
            running = torch.ones(len(state), 1, dtype=torch.bool) if lengths is None else (lengths > t)[:, None]
            state = torch.where(running, new, state)
            each[t] = torch.where(running, state, torch.zeros_like(state))
        outputs.append(torch.stack(each))
        ends.append(state)
    return torch.stack(outputs, 1), torch.stack(ends)


def operands(
    rng: np.random.Generator, sizes: tuple[int, int, int, int], directions: int, lengths: bool = False, present: str = "bh"
) -> list[np.ndarray | None]:
    """x, w, r, and those of bias, lengths and first states that are present."""
    steps, samples, features, size = sizes
    weights = [rng.standard_normal((directions, 3 * size, n)) * 0.7 for n in (features, size)]
    bias = rng.standard_normal((directions, 6 * size)) if "b" in present else None
    h = rng.standard_normal((directions, samples, size)) if "h" in present else None
    ends = rng.integers(0, steps + 1, samples) if lengths else None
    return [rng.standard_normal((steps, samples, features)), *weights, bias, ends, h]


def compare(rng: np.random.Generator, arrays: list[np.ndarray | None], found: dict[str, Any]) -> None:
    """Compare results and the gradients of all operands, where outputs and last states have cotangents."""
    tensors = [None if x is None else torch.tensor(x).requires_grad_(x.dtype == np.float64) for x in arrays]
    outputs = layer(tensors, found)
    for mine, wanted in zip(evaluate(GruOp, arrays, found), outputs, strict=True):
        np.testing.assert_allclose(mine, wanted.detach().numpy(), rtol=1e-9, atol=1e-9)
    cotangents = [rng.standard_normal(y.shape) for y in outputs]
    torch.autograd.backward(outputs, [torch.tensor(u) for u in cotangents])
    for mine, tensor in zip(rule_gradients(GruOp, arrays, found, cotangents), tensors, strict=True):
        wanted = None if tensor is None or tensor.grad is None else tensor.grad.numpy()
        assert (mine is None) == (wanted is None)
        if mine is not None:
            np.testing.assert_allclose(mine, np.asarray(wanted), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_directions_and_lengths(direction: str, lengths: bool, rng: np.random.Generator) -> None:
    compare(rng, operands(rng, (5, 3, 4, 6), 2 if direction == "bidirectional" else 1, lengths), attrs(direction))


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1, 4, 2, 3), (9, 1, 3, 1), (3, 2, 1, 5)])
def test_odd_shapes(sizes: tuple[int, int, int, int], rng: np.random.Generator) -> None:
    compare(rng, operands(rng, sizes, 1), attrs())


@pytest.mark.parametrize("present", ["", "b", "h"])
def test_absent_operands(present: str, rng: np.random.Generator) -> None:
    compare(rng, operands(rng, (4, 2, 3, 5), 1, present=present), attrs())


@pytest.mark.parametrize(("functions", "clip"), [(("tanh", "softplus"), float("inf")), (("softplus", "sigmoid"), 0.5)])
def test_other_functions(functions: tuple[str, ...], clip: float, rng: np.random.Generator) -> None:
    compare(rng, operands(rng, (4, 3, 2, 3), 2, lengths=True), attrs("bidirectional", functions, clip))


@pytest.mark.parametrize("wanted", [0, 1])
def test_cotangents_of_one_result(wanted: int, rng: np.random.Generator) -> None:
    arrays, found = operands(rng, (4, 3, 2, 3), 1), attrs()
    tensors = [None if x is None else torch.tensor(x).requires_grad_() for x in arrays]
    y = layer(tensors, found)[wanted]
    cotangent = rng.standard_normal(y.shape)
    y.backward(torch.tensor(cotangent))
    gradients = rule_gradients(GruOp, arrays, found, [cotangent if i == wanted else None for i in range(2)])
    for mine, tensor in zip(gradients, tensors, strict=True):
        assert (mine is None) == (tensor is None)
        if mine is not None:
            np.testing.assert_allclose(mine, tensor.grad.numpy(), rtol=1e-9, atol=1e-9)

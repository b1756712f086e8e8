"""Steps of optimizers, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.ttc.importers.onnx.cases import check, model_of, normal
from tests.ttc.importers.onnx.test_walk import failure, save

DOMAIN = "ai.onnx.preview.training"

RATE, X, G = np.array(0.1, np.float32), normal(2, 3), normal(2, 3)
V, H = normal(2, 3), np.abs(normal(2, 3))


def step_model(op: str, step: int, kept: list[np.ndarray], **attrs: Any) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """One step of two tensors: X and its mirror image."""
    arrays = [RATE, np.array(step, np.int64), X, -X, G, G, *(y for k in kept for y in (k, k))]
    feeds = {f"i{i}": a for i, a in enumerate(arrays)}
    results = [f"o{i}" for i in range(2 + 2 * len(kept))]
    node = helper.make_node(op, list(feeds), results, domain=DOMAIN, **attrs)
    made = model_of([node], feeds, results, domains={DOMAIN: 1})
    return made, feeds


def both(update: Any) -> list[np.ndarray]:
    first, second = update(X), update(-X)
    return [value.astype(np.float32) for pair in zip(first, second, strict=True) for value in pair]


@pytest.mark.parametrize("step", [0, 3])
def test_adagrad(step: int, tmp_path: Path) -> None:
    def update(x: np.ndarray) -> tuple[np.ndarray, ...]:
        g = 0.5 * x + G
        h = H + g * g
        return x - 0.1 / (1 + step * 0.2) * g / (np.sqrt(h) + 1e-5), h

    model, feeds = step_model("Adagrad", step, [H], decay_factor=0.2, epsilon=1e-5, norm_coefficient=0.5)
    check(model, feeds, tmp_path, wanted=both(update))


@pytest.mark.parametrize("step", [0, 3])
def test_adam(step: int, tmp_path: Path) -> None:
    def update(x: np.ndarray) -> tuple[np.ndarray, ...]:
        v, h = 0.9 * V + 0.1 * G, 0.99 * H + 0.01 * G * G
        rate = 0.1 * np.sqrt(1 - 0.99**step) / (1 - 0.9**step) if step else 0.1
        return (x - rate * v / (np.sqrt(h) + 1e-5)) * 0.75, v, h

    model, feeds = step_model("Adam", step, [V, H], alpha=0.9, beta=0.99, epsilon=1e-5, norm_coefficient_post=0.25)
    check(model, feeds, tmp_path, wanted=both(update), atol=1e-4)


@pytest.mark.parametrize("step", [0, 3])
@pytest.mark.parametrize("mode", ["standard", "nesterov"])
def test_momentum(mode: str, step: int, tmp_path: Path) -> None:
    def update(x: np.ndarray) -> tuple[np.ndarray, ...]:
        v = 0.9 * V + (0.5 if step else 1.0) * G
        return x - 0.1 * (v if mode == "standard" else G + 0.9 * v), v

    model, feeds = step_model("Momentum", step, [V], alpha=0.9, beta=0.5, mode=mode, norm_coefficient=0.0)
    check(model, feeds, tmp_path, wanted=both(update))


def test_tensors_that_do_not_come_in_kinds(tmp_path: Path) -> None:
    feeds = {"r": RATE, "t": np.array(0, np.int64), "a": X, "b": G}
    node = helper.make_node("Adagrad", list(feeds), ["y"], domain=DOMAIN)
    assert failure(save(model_of([node], feeds, ["y"], domains={DOMAIN: 1}), tmp_path)).code == "E0203"

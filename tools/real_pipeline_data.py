"""Small random data that `real_pipelines.py` trains on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Feeds: TypeAlias = "dict[str, NDArray]"

ROWS = 256
FEATURES = 10
CLASSES = 3
_TRAINED = 600
WORDS = ("tree", "linear model", "the quick brown fox", "gradient descent", "random forest", "a lazy dog", "deep tree", "model of words")


def _numbers(targets: Callable[[NDArray, np.random.Generator], NDArray], low: float | None = None) -> tuple[Any, Any, Feeds]:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((_TRAINED + ROWS, FEATURES)).astype(np.float32)
    x = x if low is None else np.maximum(np.round(2 * x), low).astype(np.float32)
    return x[:_TRAINED], targets(x, rng)[:_TRAINED], {"x": x[_TRAINED:]}


def _classes(x: NDArray, rng: np.random.Generator, count: int = CLASSES) -> NDArray:
    score = x[:, 0] + x[:, 1] * x[:, 2] + 0.2 * rng.standard_normal(len(x))
    return np.digitize(score, np.quantile(score, np.arange(1, count) / count)).astype(np.int64)


def _real(x: NDArray, rng: np.random.Generator) -> NDArray:
    return (x[:, 0] + x[:, 1] * x[:, 2] + np.sin(3 * x[:, 3]) + 0.1 * rng.standard_normal(len(x))).astype(np.float32)


def _texts() -> tuple[Any, Any, Feeds]:
    rng = np.random.default_rng(8)
    chosen = rng.integers(0, len(WORDS), (_TRAINED + ROWS, 3))
    x = np.array([" ".join(WORDS[i] for i in row) for row in chosen])
    y = (chosen[:, 0] % 2).astype(np.int64)
    return x[:_TRAINED], y[:_TRAINED], {"x": x[_TRAINED:].reshape(-1, 1)}


def _table() -> tuple[Any, Any, Feeds]:
    """Return columns of numbers with holes and of words, by name."""
    import pandas

    rng = np.random.default_rng(9)
    count = _TRAINED + ROWS
    age, fare = (rng.standard_normal(count).astype(np.float32) for _ in range(2))
    age[rng.random(count) < 0.1] = np.nan
    sex, port = rng.choice(["female", "male"], count), rng.choice(["C", "Q", "S", "none"], count)
    y = np.where(np.nan_to_num(age) + fare + (sex == "male") > 0.5, "yes", "no")
    columns = {"age": age, "fare": fare, "sex": sex, "port": port}
    frame = pandas.DataFrame({name: column[:_TRAINED] for name, column in columns.items()})
    return frame, y[:_TRAINED], {name: column[_TRAINED:].reshape(-1, 1) for name, column in columns.items()}


def _table_without_names() -> tuple[Any, Any, Feeds]:
    """Return columns of words alone."""
    rng = np.random.default_rng(10)
    count = _TRAINED + ROWS
    x = np.stack([rng.choice(["red", "green", "blue"], count), rng.choice(["S", "M", "L", "XL"], count)], 1).astype(object)
    y = ((x[:, 0] == "red") | (x[:, 1] == "L")).astype(np.int64)
    return x[:_TRAINED], y[:_TRAINED], {"x": x[_TRAINED:].astype(str)}


DATA: dict[str, Callable[[], tuple[Any, Any, Feeds]]] = {
    "three": lambda: _numbers(_classes),
    "two": lambda: _numbers(lambda x, rng: _classes(x, rng, 2)),
    "words": lambda: _numbers(lambda x, rng: np.array(["low", "middle", "high"])[_classes(x, rng)]),
    "counts": lambda: _numbers(_classes, 0.0),
    "real": lambda: _numbers(_real),
    "two reals": lambda: _numbers(lambda x, rng: np.stack([_real(x, rng), x[:, 4]], 1)),
    "two labels": lambda: _numbers(lambda x, rng: np.stack([_classes(x, rng), _classes(-x, rng)], 1)),
    "bits": lambda: _numbers(lambda x, rng: np.stack([_classes(x, rng, 2), _classes(-x, rng, 2)], 1)),
    "holes": lambda: _with_holes("three"),
    "real holes": lambda: _with_holes("real"),
    "texts": _texts,
    "table": _table,
    "categories": _table_without_names,
}
"""The data an estimator is trained on, its targets, and inputs of its model, by name."""


def _with_holes(name: str) -> tuple[Any, Any, Feeds]:
    x, y, feeds = DATA[name]()
    rng = np.random.default_rng(11)
    for array in (x, feeds["x"]):
        array[rng.random(array.shape) < 0.1] = np.nan
    return x, y, feeds

"""Functions of TensorFlow compiled by ttc and run on the host, beside TensorFlow's own results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

import ttc

BOUND = 1e-4
"""Of the largest element, at least of 1."""


def normal(*shape: int, seed: int = 0) -> NDArray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def results(model: Any, examples: Any, folder: Path, target: str = "host") -> dict[str, NDArray]:
    """What the compiled archive of a model gives for examples, by name of the output."""
    program = ttc.compile(model, examples, target=target)
    program.save(folder / "model.tti")
    inputs = [argument.name for argument in program.netlist.programs["forward"].arguments if argument.kind == "input"]
    given = dict(examples) if isinstance(examples, Mapping) else dict(zip(inputs, examples, strict=True))
    with ttc.load(folder / "model.tti") as executor:
        return executor.run({name: given[name] for name in inputs})


def check(function: Callable[..., Mapping[str, Any]], *examples: NDArray, folder: Path, bound: float = BOUND) -> None:
    """Every result of a function agrees with TensorFlow's in shape, dtype and value."""
    traced = tf.function(function)
    expected = {name: value.numpy() for name, value in traced(*map(tf.constant, examples)).items()}
    found = results(traced, examples, folder)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert (found[name].shape, found[name].dtype) == (value.shape, value.dtype), name
        agree(found[name], value, name, bound)


def agree(found: NDArray, expected: NDArray, name: str, bound: float = BOUND) -> None:
    """Raises AssertionError, naming what differs."""
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(found, expected, err_msg=name)
        return
    a, b = found.astype(np.float64), expected.astype(np.float64)
    assert np.array_equal(np.isnan(a), np.isnan(b)), name
    difference = np.nanmax(np.abs(a - b), initial=0.0)
    assert difference <= bound * max(1.0, np.nanmax(np.abs(b), initial=0.0)), f"{name}: {difference}"

"""Ensembles of trees in machine code against their numpy kernel, bit by bit; and trees that are none."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, ran
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")
FORMATS = {"Float32": np.float32, "Float64": np.float64, "Float16_b": np.float32, "Half": np.float32}


class Trees:
    """Random complete trees, each node of which NaN leaves by a random branch."""

    def __init__(self, trees: int, depth: int, features: int, width: int, rng: np.random.Generator) -> None:
        inner = 2**depth - 1
        child = np.arange(1, 2 * inner + 1).reshape(inner, 2)
        each = inner + 1
        tree = np.where(child < inner, child, -1 - (child - inner))
        shift = np.arange(trees)[:, None, None]
        branches = np.where(tree[None] >= 0, tree[None] + shift * inner, tree[None] - shift * each).reshape(-1, 2)
        asked = rng.integers(0, [features, 2], (trees * inner, 2))
        self.nodes = np.concatenate([asked, branches], axis=1).astype(np.int32)
        self.splits = rng.standard_normal(trees * inner)
        self.roots = (np.arange(trees) * inner).astype(np.int32)
        self.weights = rng.standard_normal((trees * each, width))
        self.features = features


def walked(
    trees: Trees,
    rows: int,
    rng: np.random.Generator,
    *,
    count: int = 1,
    aggregate: str = "sum",
    targets: NDArray | None = None,
    format: str = "Float32",
    level: str = "amx",
    threads: int = 2,
    constant: bool = True,
    dialect: str = "tile",
) -> Ran:
    dtype = FORMATS[format]
    x = rng.standard_normal((rows, trees.features)).astype(dtype)
    x[rng.random(x.shape) < 0.1] = np.nan
    met = trees.splits[: x.size].astype(dtype)
    x.ravel()[: met.size : 3] = met[::3]
    numbers = [
        Given(trees.nodes, "Int32", constant),
        Given(trees.splits.astype(dtype), format, constant),
        Given(trees.roots, "Int32", constant),
    ]
    given = [Given(x, format), *numbers, Given(trees.weights.astype(dtype), format, constant)]
    given += [] if targets is None else [Given(targets, "Int32", constant)]
    work = Work(
        f"{dialect}.tree_ensemble", tuple(range(len(given))), {"aggregate": aggregate, "count": count}, (TensorType((rows, count), format),)
    )
    return ran([work], given, level=level, threads=threads)


def same(found: Ran) -> None:
    assert not found.refusals
    assert "WalkTrees" in found.kernels
    np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("trees", [1, 2, 5, 8, 19])
@pytest.mark.parametrize("rows", [1, 3, 33])
def test_rows_and_trees(rows: int, trees: int, level: str) -> None:
    rng = np.random.default_rng(rows * 100 + trees)
    same(walked(Trees(trees, 4, 3, 1, rng), rows, rng, level=level))


@pytest.mark.parametrize("format", ["Float32", "Float64"])
def test_trees_of_the_host(format: str) -> None:
    rng = np.random.default_rng(21)
    same(walked(Trees(9, 3, 5, 1, rng), 17, rng, format=format, dialect="nn"))


@pytest.mark.parametrize("format", FORMATS)
def test_formats(format: str) -> None:
    rng = np.random.default_rng(2)
    found = walked(Trees(9, 3, 5, 1, rng), 17, rng, format=format)
    assert not found.refusals
    bound = {"Float16_b": 2e-2, "Half": 4e-3}.get(format, 0.0)
    np.testing.assert_allclose(found.native, found.reference, rtol=0, atol=bound * np.abs(found.reference).max())


@pytest.mark.parametrize("aggregate", ["sum", "min", "max"])
@pytest.mark.parametrize("trees", [1, 3, 11])
def test_aggregates_and_targets(trees: int, aggregate: str) -> None:
    rng = np.random.default_rng(trees)
    one, some = Trees(trees, 3, 4, 1, rng), Trees(trees, 3, 4, 3, rng)
    same(walked(one, 19, rng, aggregate=aggregate))
    same(walked(some, 19, rng, aggregate=aggregate, count=3))
    same(walked(some, 19, rng, aggregate=aggregate, count=5, targets=rng.integers(-1, 5, some.weights.shape).astype(np.int32)))


def test_trees_that_are_computed() -> None:
    rng = np.random.default_rng(3)
    same(walked(Trees(5, 3, 4, 2, rng), 9, rng, count=2, constant=False))


def test_splits_at_their_limits() -> None:
    """Infinities, zeros of both signs, the smallest numbers and NaN, with NaN to either side."""
    limits = np.array([np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38, np.nan, 1.0], np.float32)
    nodes = np.array([[0, nan, ~0, ~1] for nan in (0, 1) for _ in limits], np.int32)
    weights = np.array([[1], [0]], np.float32)
    x = limits[:, None]
    for root, split in enumerate(np.concatenate([limits, limits])):
        given = [Given(x), Given(nodes, "Int32", True), Given(np.full(len(nodes), split, np.float32), constant=True)]
        given += [Given(np.array([root], np.int32), "Int32", True), Given(weights, constant=True)]
        work = Work("tile.tree_ensemble", tuple(range(5)), {"aggregate": "sum", "count": 1}, (TensorType((len(x), 1), "Float32"),))
        same(ran([work], given))


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("nodes", (0, 2), 0),
        ("nodes", (3, 3), 1),
        ("nodes", (0, 3), 1 << 30),
        ("nodes", (2, 2), -(1 << 31)),
        ("nodes", (1, 0), -1),
        ("nodes", (1, 0), 4),
        ("roots", (1,), 1 << 20),
        ("roots", (0,), -100),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
def test_what_leads_nowhere_is_an_error(name: str, at: tuple[int, ...], value: int, constant: bool) -> None:
    rng = np.random.default_rng(4)
    trees = Trees(3, 3, 4, 1, rng)
    getattr(trees, name)[at] = value
    with pytest.raises(Error) as caught:
        walked(trees, 5, rng, constant=constant)
    assert caught.value.code == "E0802"


def test_targets_that_are_none_are_an_error() -> None:
    rng = np.random.default_rng(5)
    trees = Trees(3, 3, 4, 2, rng)
    targets = np.zeros(trees.weights.shape, np.int32)
    for value in (2, -2, 1 << 30):
        targets[:] = value
        with pytest.raises(Error) as caught:
            walked(trees, 5, rng, count=2, targets=targets)
        assert caught.value.code == "E0802"

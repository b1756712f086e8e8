"""Conditions of all modes as nodes that ask one thing, at the limits of numbers; and attributes that are no trees."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.interpret import kernel
from ttc.importers.onnx.forests import MODES, Questions, forest_of

LIMITS = np.array(
    [np.nan, -np.inf, -3.4e38, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, np.nextafter(np.float32(1), np.float32(2)), np.inf], np.float32
)
SETS = [[], [1.0], [np.nan, -np.inf, 1.0], [0.0, -0.0, np.inf], [-1.0, 1.0, 1e-45, -1e-45]]
COMPARED = {
    "less_equal": np.less_equal, "less": np.less, "greater_equal": np.greater_equal, "greater": np.greater, "equal": np.equal,
    "not_equal": np.not_equal,
}  # fmt: skip


def asked(mode: str, split: float, *, tracks: bool, members: list[float] | None = None) -> np.ndarray:
    """Whether one node's condition holds for each of LIMITS."""
    one = np.zeros(1, np.int64)
    sets = [] if members is None else [np.array(members, np.float32)]
    questions = Questions(one, one + MODES.index(mode), np.array([split], np.float32), np.array([tracks]), one - 1, one - 2, sets)
    forest = forest_of(questions, one, 1, 2, np.dtype(np.float32))
    weights = np.array([[1], [0]], np.float32)
    scores: Any = kernel("nn.tree_ensemble")(LIMITS[:, None], *forest, weights, None, aggregate="sum", count=1)
    return scores[:, 0] > 0


@pytest.mark.parametrize("tracks", [False, True])
@pytest.mark.parametrize("mode", COMPARED)
def test_comparisons(mode: str, tracks: bool) -> None:
    for split in LIMITS:
        wanted = COMPARED[mode](LIMITS, split) | (np.isnan(LIMITS) & tracks)
        np.testing.assert_array_equal(asked(mode, split, tracks=tracks), wanted, err_msg=f"{mode} {split}")


@pytest.mark.parametrize("tracks", [False, True])
def test_members(tracks: bool) -> None:
    for members in SETS:
        wanted = np.isin(LIMITS, np.array([m for m in members if not np.isnan(m)], np.float32)) | (np.isnan(LIMITS) & tracks)
        np.testing.assert_array_equal(asked("member", 0, tracks=tracks, members=members), wanted, err_msg=str(members))


def chain(count: int) -> Questions:
    """Nodes each of which follows the one before, the last of which has two leaves."""
    number = np.arange(count)
    holds = np.where(number + 1 < count, number + 1, -2)
    zeros = np.zeros(count)
    return Questions(number % 3, np.zeros(count, np.int64), zeros, zeros.astype(bool), holds, np.full(count, -1))


def test_branches_lead_on_whatever_the_order() -> None:
    rng = np.random.default_rng(11)
    straight, order = chain(50), rng.permutation(50)
    place = np.argsort(order)
    holds = np.where(straight.holds >= 0, place[np.maximum(straight.holds, 0)], straight.holds)[order]
    mixed = straight._replace(features=straight.features[order], holds=holds)
    found = forest_of(mixed, place[:1], 3, 2, np.dtype(np.float32))
    assert np.array_equal(found.nodes, forest_of(straight, np.zeros(1, np.int64), 3, 2, np.dtype(np.float32)).nodes)
    assert found.roots.tolist() == [0]


def test_a_million_nodes_in_a_chain_take_seconds() -> None:
    start = time.process_time()
    found = forest_of(chain(1_000_000), np.zeros(1, np.int64), 3, 2, np.dtype(np.float32))
    assert len(found.nodes) == 1_000_000
    assert time.process_time() - start < 8


def test_trees_that_are_one_leaf() -> None:
    empty = Questions(*[np.zeros(0, kind) for kind in (int, int, float, bool, int, int)], members=[])  # pyright: ignore[reportCallIssue]
    found = forest_of(empty, np.array([-2, -1]), 3, 2, np.dtype(np.float32))
    x, weights = np.ones((2, 3), np.float32), np.array([[1], [10]], np.float32)
    scores: Any = kernel("nn.tree_ensemble")(x, *found, weights, None, aggregate="sum", count=1)
    assert scores.tolist() == [[11], [11]]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("features", [0, 3, 0]), ("features", [0, -1, 0]), ("modes", [0, 7, 0]), ("modes", [0, -1, 0]), ("holds", [1, 3, -1]),
        ("holds", [1, 2, -4]), ("holds", [0, 2, -1]), ("holds", [1, 0, -1]), ("fails", [1, -1, -1]), ("fails", [1 << 62, -1, -1]),
    ],
)  # fmt: skip
def test_what_is_no_tree(field: str, value: list[int]) -> None:
    with pytest.raises(Error) as caught:
        forest_of(chain(3)._replace(**{field: np.array(value)}), np.zeros(1, np.int64), 3, 3, np.dtype(np.float32))
    assert caught.value.code == "E0402"

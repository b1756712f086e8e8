"""Draws of tokens: what is kept, in which proportions, and from which numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.generation.sampling import GREEDY, Sampling, ordered, uniform

LOGITS = np.log(np.array([0.1, 0.4, 0.05, 0.25, 0.2], np.float32))


def shares(sampling: Sampling, count: int = 4000) -> np.ndarray:
    drawn = [sampling.choose(LOGITS, row, place) for row in range(2) for place in range(count // 2)]
    return np.bincount(drawn, minlength=LOGITS.size) / count


def test_the_most_probable_token_and_the_first_of_equal_ones() -> None:
    assert GREEDY.choose(LOGITS, 0, 0) == 1
    assert GREEDY.choose(np.array([0, 3, 1, 3], np.float32), 5, 7) == 1
    assert Sampling(temperature=9.0, top_k=1).choose(LOGITS, 0, 0) == 1


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(temperature=1.0), [0.1, 0.4, 0.05, 0.25, 0.2]),
        (Sampling(temperature=1.0, top_k=2), [0, 0.4 / 0.65, 0, 0.25 / 0.65, 0]),
        (Sampling(temperature=1.0, top_p=0.6), [0, 0.4 / 0.65, 0, 0.25 / 0.65, 0]),
        (Sampling(temperature=1.0, top_k=3, top_p=0.5), [0, 0.4 / 0.65, 0, 0.25 / 0.65, 0]),
        (Sampling(temperature=0.5), np.array([0.01, 0.16, 0.0025, 0.0625, 0.04]) / 0.275),
    ],
)
def test_tokens_come_as_often_as_the_formula_says(sampling: Sampling, expected: list[float]) -> None:
    np.testing.assert_allclose(shares(sampling), expected, atol=0.03)


def test_the_formula_of_one_draw() -> None:
    order, u = [1, 3, 4, 0, 2], uniform(7, 1, 11)
    sums = np.cumsum([0.4, 0.25, 0.2, 0.1, 0.05])
    assert Sampling(temperature=1.0, seed=7).choose(LOGITS, 1, 11) == order[int(np.argmax(sums > u))]


def test_numbers_are_uniform_and_of_the_seed_row_and_place() -> None:
    found = np.array([[uniform(1, row, place) for place in range(500)] for row in range(4)])
    assert np.abs(np.quantile(found, [0.25, 0.5, 0.75]) - [0.25, 0.5, 0.75]).max() < 0.04
    assert len(np.unique(found)) == found.size
    assert uniform(2, 0, 0) != uniform(1, 0, 0) == found[0, 0]


@pytest.mark.parametrize("count", [1, 3, 17, 50, None])
def test_the_largest_in_order(count: int | None, rng: np.random.Generator) -> None:
    logits = rng.integers(0, 12, 50).astype(np.float32)
    expected = sorted(range(50), key=lambda token: (-logits[token], token))[:count]
    assert ordered(logits, count).tolist() == expected


@pytest.mark.parametrize(
    "fields", [{"temperature": -1.0}, {"temperature": float("nan")}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}, {"seed": -1}]
)
def test_numbers_outside_their_ranges(fields: dict[str, float]) -> None:
    with pytest.raises(Error, match="E0101"):
        Sampling(**fields)  # pyright: ignore[reportArgumentType]


def test_logits_that_are_no_numbers() -> None:
    with pytest.raises(Error, match="E0802"):
        GREEDY.choose(np.array([1, np.nan], np.float32), 0, 3)

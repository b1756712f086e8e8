"""Generators: the library's own tokens on host and device, going on, ends of texts, full caches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
pytest.importorskip("transformers", reason="transformers is installed where torch is")

import ttc  # noqa: E402
from tests.ttc.generation.conftest import LENGTH  # noqa: E402
from tests.ttc.generation.models import MODELS, VOCABULARY, model_of, theirs  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402

GENERATED = 20
PROMPTS = ((1, (1,)), (1, (130,)), (1, (200,)), (4, (1, 3, 40, 200)), (4, (128, 2, 16, 17)))
"""Rows, and the lengths of their prompts."""


@pytest.fixture
def generator(generating: Path) -> Iterator[ttc.Generator]:
    with ttc.generator(generating) as found:
        yield found


def drawn(rng: np.random.Generator, *lengths: int) -> list[list[int]]:
    return [rng.integers(0, VOCABULARY, length).tolist() for length in lengths]


def share_of_theirs(name: str, target: str, batch: int, rng: np.random.Generator) -> float:
    """The share of tokens that are the library's, over prompts of many lengths."""
    model = model_of(name)
    same: list[bool] = []
    with ttc.generator(model, batch=batch, max_length=224, target=target) as generator:
        for prompts in (drawn(rng, *lengths) for rows, lengths in PROMPTS if rows == batch):
            generator.reset()
            for prompt, found in zip(prompts, generator.generate(prompts, GENERATED, stop=()), strict=True):
                same += [a == b for a, b in zip(found, theirs(model, prompt, GENERATED), strict=True)]
    return float(np.mean(same))


@pytest.mark.parametrize(("name", "batch"), [(name, 1 + 3 * (index % 2)) for index, name in enumerate(MODELS)] + [("llama", 1)])
def test_the_most_probable_tokens_are_the_library_s_on_the_host(name: str, batch: int, rng: np.random.Generator) -> None:
    assert share_of_theirs(name, "host", batch, rng) == 1


@pytest.mark.parametrize(("name", "batch"), [("gpt2", 1), ("mistral", 4)])
def test_nearly_all_tokens_are_the_library_s_on_a_device(name: str, batch: int, rng: np.random.Generator) -> None:
    assert share_of_theirs(name, "n150", batch, rng) >= 0.9


@pytest.mark.parametrize("cut", [1, 7, 8, 33])
def test_a_prompt_in_two_parts_is_one_prompt(generator: ttc.Generator, cut: int, rng: np.random.Generator) -> None:
    prompts = drawn(rng, 40, 35)
    whole = generator.feed(prompts)
    generator.reset()
    generator.feed([row[:cut] for row in prompts])
    parts = generator.feed([row[cut:] for row in prompts])
    np.testing.assert_allclose(parts, whole, atol=1e-5)
    assert generator.lengths == (40, 35)


def test_rows_and_what_fills_chunks_do_not_influence_each_other(generator: ttc.Generator, rng: np.random.Generator) -> None:
    first, second, other = drawn(rng, 13, 13, 30)
    alone = generator.feed([first, second])
    generator.reset()
    generator.feed([other, [5]])
    generator.reset()
    beside = generator.feed([first, other])
    np.testing.assert_allclose(beside[0], alone[0], atol=1e-6)
    assert np.abs(beside[1] - alone[1]).max() > 1e-3


def test_going_on_after_more_of_a_prompt(generator: ttc.Generator, rng: np.random.Generator) -> None:
    prompts, more = drawn(rng, 5, 9), drawn(rng, 3, 1)
    first = generator.generate(prompts, 4, stop=())
    assert generator.lengths == (9, 13)
    found = generator.generate(more, 6, stop=())
    generator.reset()
    again = generator.generate([[*a, *b, *c] for a, b, c in zip(prompts, first, more, strict=True)], 6, stop=())
    assert found == again


def test_streams_end_by_row_and_go_on_where_they_were_left(generator: ttc.Generator, rng: np.random.Generator) -> None:
    prompts = drawn(rng, 6, 6)
    whole = generator.generate(prompts, 12, stop=())
    ends = {whole[0][4]}
    ended = [row[: row.index(whole[0][4]) + 1] if whole[0][4] in row else row for row in whole]
    generator.reset()
    steps: list[tuple[int | None, ...]] = []
    assert generator.generate(prompts, 12, stop=ends, on_step=steps.append) == ended
    assert [token for token, _ in steps if token is not None] == ended[0]
    generator.reset()
    stream: Any = generator.stream(prompts, 12, stop=())
    begun = [next(stream) for _ in range(3)]
    stream.close()
    rest = generator.generate(None, 9, stop=())
    assert [[step[row] for step in begun] + rest[row] for row in range(2)] == whole


def test_drawn_tokens_depend_on_seed_row_and_place_alone(generator: ttc.Generator, rng: np.random.Generator) -> None:
    (prompt,) = drawn(rng, 9)
    sampling = ttc.Sampling(temperature=2.0, top_k=50, top_p=0.9, seed=3)
    first, second = generator.generate([prompt, prompt], 16, sampling=sampling, stop=())
    assert first != second
    generator.reset()
    parts = [generator.generate([prompt, prompt], 7, sampling=sampling, stop=()), generator.generate(None, 9, sampling=sampling, stop=())]
    assert [parts[0][row] + parts[1][row] for row in range(2)] == [first, second]
    generator.reset()
    other = ttc.Sampling(temperature=2.0, top_k=50, top_p=0.9, seed=4)
    assert generator.generate([prompt, prompt], 16, sampling=other, stop=()) != [first, second]


def test_a_full_cache_is_an_error_and_changes_nothing(generator: ttc.Generator, rng: np.random.Generator) -> None:
    prompts = drawn(rng, LENGTH - 5, 3)
    expected = generator.generate(prompts, 6, stop=())
    assert generator.lengths == (LENGTH + 1, 9)
    generator.reset()
    with pytest.raises(Error, match="E0810"):
        generator.stream(prompts, 7)
    with pytest.raises(Error, match="E0810"):
        generator.feed(drawn(rng, 1, LENGTH + 1))
    assert generator.lengths == (0, 0)
    to_the_end = generator.generate(prompts, stop=())
    assert to_the_end[0] == expected[0]
    assert to_the_end[1][:6] == expected[1]
    assert generator.lengths == (LENGTH + 1, LENGTH + 1)
    with pytest.raises(Error, match="E0810"):
        generator.generate(None, 1)


@pytest.mark.parametrize(
    ("prompts", "count", "code"),
    [
        ([[1]], 1, "E0801"),
        ([[1], []], 1, "E0801"),
        ([[1], [1.5]], 1, "E0801"),
        ([[1], [VOCABULARY]], 1, "E0802"),
        ([[1], [-1]], 1, "E0802"),
        (7, 1, "E0801"),
        ([[1], [1]], 0, "E0101"),
        (None, 1, "E0801"),
    ],
)
def test_prompts_that_cannot_be_taken(generator: ttc.Generator, prompts: object, count: int, code: str) -> None:
    with pytest.raises(Error, match=code):
        generator.generate(prompts, count)
    assert generator.lengths == (0, 0)


def test_arrays_are_prompts(generator: ttc.Generator) -> None:
    found = generator.generate(np.array([[3, 4], [5, 6]]), 3)
    generator.reset()
    assert found == generator.generate([[3, 4], [5, 6]], 3)


def test_both_engines_agree(generator: ttc.Generator, generating: Path, rng: np.random.Generator) -> None:
    prompts = drawn(rng, 11, 4)
    with ttc.generator(generating, engine="reference") as reference:
        assert reference.generate(prompts, 5, stop=()) == generator.generate(prompts, 5, stop=())

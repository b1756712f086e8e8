"""How prompts are cut: every token once, and not much more than there is."""

from __future__ import annotations

import pytest

from ttc.generation.chunks import Chunks

CHUNKS = Chunks({1: "decode", 16: "prefill_16", 128: "prefill"})


def cut(chunks: Chunks, length: int) -> list[int]:
    found: list[int] = []
    while (left := length - sum(found)) > 0:
        found.append(chunks.next(left))
    return found


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (1, [1]),
        (2, [16]),
        (16, [16]),
        (17, [16, 1]),
        (40, [16, 16, 16]),
        (112, [16] * 7),
        (113, [128]),
        (128, [128]),
        (200, [128, *[16] * 5]),
    ],
)
def test_lengths_of_chunks(length: int, expected: list[int]) -> None:
    assert cut(CHUNKS, length) == expected


def test_without_programs_for_prompts() -> None:
    assert cut(Chunks({1: "decode"}), 3) == [1, 1, 1]

"""Patterns of passes."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.instruments.base import PassPattern


@pytest.mark.parametrize(
    ("text", "name", "stage", "times", "meant"),
    [
        ("fuse-*", "fuse-bias", "nn", 1, True),
        ("fuse-*", "fold-qdq", "nn", 1, False),
        ("canonicalize@3", "canonicalize", "nn", 3, True),
        ("canonicalize@3", "canonicalize", "nn", 2, False),
        ("tile", "cancel-tms", "tile", 1, True),
        ("tile", "fuse-bias", "nn", 1, False),
    ],
)
def test_which_runs_are_meant(text: str, name: str, stage: str, times: int, meant: bool) -> None:
    assert PassPattern(text).require_known().matches(name, stage, times) is meant


@pytest.mark.parametrize(
    ("text", "words"),
    [("fuse-bis", "did you mean 'fuse-bias'?"), ("canonicalize@x", "a number from 1"), ("canonicalize@0", "a number from 1")],
)
def test_patterns_of_nothing(text: str, words: str) -> None:
    with pytest.raises(Error) as caught:
        PassPattern(text).require_known()
    assert caught.value.code == "E0101"
    assert words in str(caught.value)

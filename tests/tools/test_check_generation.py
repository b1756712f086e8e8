"""`tools/check_generation.py`: batches of prompts, a short run, and a share that is too small."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
pytest.importorskip("transformers", reason="transformers is installed where torch is")

import check_generation  # noqa: E402
from check_generation import batches_of, main  # noqa: E402


def test_all_lengths_are_in_whole_batches() -> None:
    assert batches_of([5, 6, 7], 1) == [[5], [6], [7]]
    assert batches_of([5, 6, 7], 2) == [[5, 6], [7, 5]]
    assert batches_of([5], 4) == [[5, 5, 5, 5]]


def test_a_short_run_and_other_tokens_are_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--kinds", "gemma", "--targets", "host", "--batches", "2", "--lengths", "1,9"]
    assert main(short) == 0
    assert capsys.readouterr().out == "host   gemma    batch 2: 100.00% of 40 tokens\n"
    monkeypatch.setattr(check_generation, "library_tokens", lambda model, prompt: [-1] * check_generation.GENERATED)
    assert main(short) == 1
    assert capsys.readouterr().out == "host   gemma    batch 2:   0.00% of 40 tokens, too few\n"

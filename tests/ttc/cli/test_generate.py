"""`ttc generate`: tokens and text as they come, JSON, what ends them, and what it refuses."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import ttc
from tests.ttc.generation.conftest import generating as generating
from ttc.cli import main


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer of 100 words, w0 to w99, of which two stand for an end."""
    library = pytest.importorskip("tokenizers", reason="an extra")
    made = library.Tokenizer(library.models.WordLevel({f"w{i}": i for i in range(100)} | {"?": 100}, unk_token="?"))
    made.pre_tokenizer = library.pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    return path


def generate(*arguments: object) -> int:
    return main(["generate", *map(str, arguments)])


def expected(archive: Path, prompt: list[int], count: int, **settings: Any) -> list[int]:
    with ttc.generator(archive) as generator:
        return generator.generate([prompt, prompt], count, sampling=ttc.Sampling(**settings))[0]


def test_tokens_without_a_tokenizer(generating: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(generating, "--tokens", "3,1,4", "--max-tokens", 6) == 0
    out, told = capsys.readouterr()
    assert out == ",".join(map(str, expected(generating, [3, 1, 4], 6))) + "\n"
    assert told.startswith("3 tokens of the prompt, 6 generated; first after ")


def test_text_and_what_it_is_drawn_with(generating: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawing = ["--temperature", "1.5", "--top-k", 40, "--top-p", 0.9, "--seed", 5]
    assert generate(generating, "--tokenizer", tokenizer, "--prompt", "w3 w1 w4", "--max-tokens", 6, *drawing, "-q") == 0
    tokens = expected(generating, [3, 1, 4], 6, temperature=1.5, top_k=40, top_p=0.9, seed=5)
    assert capsys.readouterr().out == " ".join(f"w{token}" for token in tokens) + "\n"


def test_a_prompt_from_standard_input_and_json(
    generating: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("w7 w8"))
    assert generate(generating, "--tokenizer", tokenizer, "--prompt", "-", "--max-tokens", 4, "--json") == 0
    out, told = capsys.readouterr()
    found = json.loads(out)
    assert told == ""
    assert found["tokens"] == expected(generating, [7, 8], 4)
    assert found["text"] == " ".join(f"w{token}" for token in found["tokens"])
    assert (found["prompt_tokens"], found["ended"]) == (2, "stop" if found["tokens"][-1] == 2 else "length")
    assert 0 < found["first_token_seconds"] < 60


def test_ends_by_token_and_by_text(generating: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokens = expected(generating, [3, 1, 4], 8)
    place = next(i for i, token in enumerate(tokens) if i and token not in tokens[:i])
    assert generate(generating, "--tokens", "3,1,4", "--max-tokens", 8, "--stop", tokens[place], "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tokens"], found["ended"]) == (tokens[: place + 1], "stop")
    ends = f" w{tokens[place]}"  # no token's name: it is looked for in the text
    words = [generating, "--tokenizer", tokenizer, "--prompt", "w3 w1 w4", "--max-tokens", 8, "--json"]
    assert generate(*words, "--stop", ends) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["text"], found["ended"]) == (" ".join(f"w{token}" for token in tokens[:place]), "stop")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "error[E0101]: there is no text to go on with"),
        (["--tokens", "1", "--prompt", "a"], "error[E0101]: there is no text to go on with"),
        (["--prompt", "a"], "error[E0101]: --prompt and --tokenizer go together"),
        (["--tokens", "1,x"], "error[E0101]: --tokens '1,x' is not numbers with commas between them"),
        (["--tokens", "1", "--stop", "x"], "error[E0101]: --stop 'x' is not numbers"),
        (["--tokens", "1,999"], "error[E0802]: token 999 of row 0 is not one of the 101 that the model has"),
        (["--tokens", "1", "--max-tokens", "999"], "error[E0810]: the cache of row 0 holds 64 tokens"),
        (["--tokens", "1", "--temperature", "-1"], "error[E0101]: --temperature cannot be '-1'"),
        (["--tokens", "1", "--tokenizer", "none.json", "--prompt", "a"], "error[E0101]: there is no text to go on with"),
        (["--tokenizer", "none.json", "--prompt", "a"], "error[E0102]: cannot read none.json"),
    ],
)
def test_what_it_refuses(generating: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(generating, *arguments) == 2
    out, told = capsys.readouterr()
    assert (out, told.startswith(message)) == ("", True), told


def test_other_archives(small_onnx: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.tti"
    ttc.compile(small_onnx, target="host", batch=1).save(path)
    assert generate(path, "--tokens", "1") == 2
    assert capsys.readouterr().err.startswith("error[E0803]: the archive holds no programs that generate tokens")

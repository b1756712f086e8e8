"""`ttc.generator`: archives without torch, options, and models that it does not take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
transformers = pytest.importorskip("transformers", reason="transformers is installed where torch is")

import ttc  # noqa: E402
from tests.ttc.generation.models import POSITIONS, SIZES, model_of, theirs  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402

LOADED = """
import sys, ttc
with ttc.generator(sys.argv[1]) as generator:
    print(generator.generate([[3, 1, 4], [1]], 5, stop=()))
print([name for name in ("torch", "transformers", "onnx", "xdsl", "tokenizers") if name in sys.modules])
"""


def test_an_archive_needs_neither_torch_nor_transformers(generating: Path) -> None:
    found = subprocess.run([sys.executable, "-c", LOADED, str(generating)], capture_output=True, text=True, check=True).stdout
    model = model_of("llama")
    assert found.splitlines() == [str([theirs(model, [3, 1, 4], 5), theirs(model, [1], 5)]), "[]"]


def test_what_an_archive_says_of_itself(generating: Path) -> None:
    with ttc.generator(generating) as generator:
        assert (generator.batch, generator.max_length, generator.vocabulary) == (2, 64, 101)
        assert generator.notes.programs == {"decode": 1, "prefill": 32, "prefill_8": 8}
        assert generator.notes.stop == (2,)


def test_bytes_are_the_same_each_time(generating: Path, tmp_path: Path) -> None:
    with ttc.generator(model_of("llama"), batch=2, max_length=64, chunks=(8, 32), target="host") as generator:
        generator.generate([[1, 2], [3]], 4)
        generator.save(tmp_path / "again.tti")
    assert (tmp_path / "again.tti").read_bytes() == generating.read_bytes()


def test_the_model_is_left_as_it_was() -> None:
    model, tokens = model_of("gpt2"), torch.tensor([[1, 2, 3]])
    before, implementation = model(tokens).logits.detach().numpy(), model.config._attn_implementation
    ttc.generator(model, max_length=8, chunks=(4,), target="host").close()
    assert model.config._attn_implementation == implementation
    np.testing.assert_array_equal(model(tokens).logits.detach().numpy(), before)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"batch": 0}, "E0101"),
        ({"max_length": 0}, "E0101"),
        ({"max_length": POSITIONS + 1}, "E0101"),
        ({"chunks": (1,)}, "E0101"),
        ({"targt": "host"}, "E0101"),
        ({"threads": 0}, "E0101"),
    ],
)
def test_options_that_cannot_be(fields: dict[str, object], code: str) -> None:
    with pytest.raises(Error, match=code):
        ttc.generator(model_of("llama"), **fields)  # pyright: ignore[reportArgumentType]


def test_options_of_compiling_do_not_go_with_an_archive(generating: Path) -> None:
    with pytest.raises(Error, match="E0101.*max_length"):
        ttc.generator(generating, max_length=8)


def test_other_archives_and_models_are_refused(small_onnx: Path, tmp_path: Path) -> None:
    ttc.compile(small_onnx, target="host", batch=1).save(tmp_path / "other.tti")
    with pytest.raises(Error, match="E0803"):
        ttc.generator(tmp_path / "other.tti")
    with pytest.raises(Error, match="E0201"):
        ttc.generator(torch.nn.Linear(2, 2))
    with pytest.raises(Error, match="E0101.*training mode"):
        ttc.generator(model_of("llama").train())


def test_attention_of_other_kinds_is_refused() -> None:
    sizes = {**SIZES, "head_dim": 16, "attn_logit_softcapping": 30.0}
    model = transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**sizes)).eval()
    with pytest.raises(Error, match="E0202.*softcap"):
        ttc.generator(model, max_length=16, chunks=(), target="host")

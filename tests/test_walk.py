"""The page on debugging a model: from a wrong number to the rewrite that makes it, on a BERT with a fold broken on purpose."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.pages import DOCS, steps, without_numbers
from ttc.cli import main
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.nn.base import NNOp
from ttc.passes.nn import fuse_activation

torch = pytest.importorskip("torch", reason="models are exported from torch, which has a build for Python 3.11 alone")


def save_bert(path: Path) -> None:
    """Two layers, random weights."""
    import transformers

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(**sizes, vocab_size=50, max_position_embeddings=16)
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    torch.export.save(torch.export.export(model, (torch.randint(0, 50, (1, 8)),), strict=False), path)


def break_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second layer's GELU be folded as a SiLU."""
    right = fuse_activation._named

    def wrong(op: NNOp) -> tuple[str, tuple[float, ...]]:
        name, numbers = right(op)
        meant = name == "gelu" and any(".layer.1." in source for source in source_names(op.location))
        return ("silu" if meant else name), numbers

    monkeypatch.setattr(fuse_activation, "_named", wrong)


def test_the_walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    save_bert(tmp_path / "bert.pt2")
    capsys.readouterr()
    break_fold(monkeypatch)
    found = list(steps((DOCS / "debugging-a-model.md").read_text()))
    assert len(found) == 9
    for command, status, lines in found:
        program, *arguments = shlex.split(command)
        assert (program, main(arguments)) == ("ttc", status), command
        printed = "".join(capsys.readouterr())
        for line in lines:
            assert without_numbers(line) in without_numbers(printed), command

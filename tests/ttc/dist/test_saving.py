"""Archives of stages are written whole, the same each time, and only of what they can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ttc
from tests.ttc.dist.equal import WIDTH, network
from ttc.dialects.core.errors import Error
from ttc.dist import save_stages
from ttc.runtime.stage_archive import open_stage_archive

EXAMPLES = (torch.zeros(4, WIDTH),)


def test_the_same_model_is_the_same_archive(tmp_path: Path) -> None:
    model = network()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for name in ("first.tti", "again.tti"):
        save_stages(tmp_path / name, model, 3, examples=EXAMPLES, by="cost")
    assert (tmp_path / "first.tti").read_bytes() == (tmp_path / "again.tti").read_bytes()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    stages = open_stage_archive(tmp_path / "first.tti").stages
    assert [len(stage.parameters) for stage in stages.stages] == [2, 2, 4]
    assert (stages.rows, stages.target, stages.precision) == (4, "host", "float32")


def test_no_program_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "stages.tti"
    save_stages(path, network(), 2, examples=EXAMPLES, training=False)
    with pytest.raises(Error, match=r"E0703.*the archive holds the stages of a pipeline") as caught:
        ttc.load(path)
    assert caught.value.hint == "ttc.dist.Runner(path, mesh=...) loads them, each process its own"


class Writing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.weight.mul_(2)
        return x * self.weight


class Named(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.return_types.max((x, x.argmax(1)))


class Branching(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if float(x.sum()) > 0 else -x


@pytest.mark.parametrize(
    ("given", "code", "what"),
    [
        ({"model": network(), "stages": 9}, "E0101", "6 layers cannot be 9 stages"),
        ({"model": network(), "stages": 2, "examples": ()}, "E0101", "examples are tensors"),
        ({"model": network(), "stages": 2, "examples": (torch.zeros(0, WIDTH),)}, "E0101", "examples are tensors"),
        ({"stages": 2}, "E0101", "there is no model to cut"),
        ({"model": network(), "stages": [network()]}, "E0101", "stages are a number"),
        ({"stages": []}, "E0101", "stages are a number"),
        ({"model": network(), "stages": 2, "named": {2: {"y": torch.zeros(4)}}}, "E0101", "there is no stage 2"),
        ({"model": network(), "stages": 2, "precision": "float8"}, "E0101", "no precision"),
        ({"model": network(), "stages": 2, "target": "n1500"}, "E0101", "n1500"),
        ({"stages": [Writing()]}, "E0202", "writes to a parameter"),
        ({"stages": [Branching()]}, "E0202", "depends on values"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, given: dict[str, Any], code: str, what: str) -> None:
    path = tmp_path / "stages.tti"
    with pytest.raises(Error, match=what) as caught:
        save_stages(path, **{"examples": EXAMPLES, **given})
    assert caught.value.code == code
    assert not path.exists()


def test_a_structure_that_no_archive_holds(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"E0801.*a max passes between stages"):
        save_stages(tmp_path / "stages.tti", stages=[Named(), nn.Identity()], examples=EXAMPLES)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Error, match="E0103"):
        save_stages(tmp_path / "no" / "stages.tti", network(), 1, examples=EXAMPLES)

"""Checkpoints load into any number of processes; files that are none end in an error, and change nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch import nn

from tests.ttc.dist.checkpointed import Run
from tests.ttc.dist.started import started
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, Runner
from ttc.dist.checkpoints import INDEX


def test_one_process_then_two_then_one(alone: Mesh, tmp_path: Path) -> None:
    first = Run(alone, 10)
    for update in range(3):
        first.updated(update)
    first.runner.save(tmp_path / "one", first.optimizer)
    wanted = [first.updated(update) for update in range(3, 7)]
    status, printed = started("checkpointed.py", 2, str(tmp_path / "one"), str(tmp_path / "two"))
    assert status == 0, printed
    for rank in range(2):
        (found,) = re.findall(rf"losses {rank} (.*)", printed)
        assert [float(loss) for loss in found.split()] == pytest.approx([*wanted, *wanted[2:]], abs=1e-6)
    last = Run(alone, 13, "host")
    last.updated(0)  # compiled for other weights
    assert last.runner.load(tmp_path / "two", last.optimizer) == 5
    assert [last.updated(5), last.updated(6)] == pytest.approx(wanted[2:], abs=1e-6)
    for name, value in last.runner.state_dict().items():
        torch.testing.assert_close(value, first.runner.state_dict()[name], rtol=1e-5, atol=1e-5)
    parts = sorted(name for name in os.listdir(tmp_path / "two") if name != INDEX)
    tensors = {name for part in parts for name in load((tmp_path / "two" / part).read_bytes())}
    assert len(parts) == 2
    assert {name for name in tensors if name.startswith("model/")} == {f"model/{name}" for name in last.runner.state_dict()} - {
        "model/3.weight"
    }


def replaced(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path, Path], object]:
    """The part with other tensors."""

    def new(part: Path, _: Path) -> None:
        tensors = load(part.read_bytes())
        change(tensors)
        part.write_bytes(save(tensors))

    return new


def indexed(**members: object) -> Callable[[Path, Path], object]:
    """The index with other members."""
    return lambda _, index: index.write_text(json.dumps({**json.loads(index.read_text()), **members}))


def begun(**firsts: str) -> Callable[[Path, Path], object]:
    """The part with some tensors as pieces that begin in such rows."""
    return lambda part, _: part.write_bytes(save(load(part.read_bytes()), {f"model/0.{name}": row for name, row in firsts.items()}))


HOSTILE: dict[str, Callable[[Path, Path], object]] = {
    "no part": lambda part, _: part.unlink(),
    "a folder": lambda part, _: (part.unlink(), part.mkdir()),
    "a pipe": lambda part, _: (part.unlink(), os.mkfifo(part)),
    "pickle": lambda part, _: torch.save({"w": torch.zeros(1)}, part),
    "empty": lambda part, _: part.write_bytes(b""),
    "longer": lambda part, _: part.write_bytes(part.read_bytes() + b"\0"),
    "without": replaced(lambda tensors: tensors.pop("model/0.bias")),
    "more": replaced(lambda tensors: tensors.update({"model/9.bias": torch.zeros(1)})),
    "shape": replaced(lambda tensors: tensors.update({"model/0.bias": torch.zeros(7)})),
    "type": replaced(lambda tensors: tensors.update({"model/0.bias": torch.zeros(6, dtype=torch.float64)})),
    "begins later": begun(bias="1"),
    "begins nowhere": begun(bias="-1"),
    "begins in no number": begun(bias="\u0661"),
    "begins far away": begun(bias="9" * 30),
    "moments": replaced(lambda tensors: tensors.pop("optimizer/0.bias/exp_avg")),
    "shape of moments": replaced(lambda tensors: tensors.update({"optimizer/0.bias/exp_avg": torch.zeros(2)})),
    "steps of it": replaced(lambda tensors: tensors.update({"optimizer/0.bias/step": torch.tensor(float("nan"))})),
    "unknown moments": replaced(lambda tensors: tensors.update({"optimizer/0.bias/more": torch.zeros(6)})),
    "no index": lambda _, index: index.unlink(),
    "index deep": lambda _, index: index.write_text("[" * 100_000),
    "index long": lambda _, index: index.write_text(" " * (2 << 20)),
    "index no text": lambda _, index: index.write_bytes(b"\xff\xfe"),
    "index empty": lambda _, index: index.write_text("{}"),
    "version": indexed(format_version=3),
    "older version": indexed(format_version=1),
    "steps": indexed(steps=-1),
    "steps as text": indexed(steps="3"),
    "other optimizer": indexed(optimizer="SGD"),
    "unknown optimizer": indexed(optimizer="os.system"),
    "elsewhere": indexed(parts=["../part-00000-0000000000000000.safetensors"]),
    "absolute": indexed(parts=["/etc/passwd"]),
    "no parts": indexed(parts=[]),
    "twice": lambda part, index: indexed(parts=[part.name, part.name])(part, index),
}


@pytest.fixture
def written(alone: Mesh, tmp_path: Path) -> tuple[Run, Path, Path]:
    """A run, the part and the index of its checkpoint."""
    run = Run(alone, 10)
    run.updated(0)
    run.runner.save(tmp_path, run.optimizer)
    (part,) = tmp_path.glob("part-*")
    return run, part, tmp_path / INDEX


def refused(run: Run, folder: Path) -> str | None:
    """The code of the error that a checkpoint ends in, after which weights and the optimizer's state are as before."""
    before = [tensor.clone() for tensor in (*run.runner.state_dict().values(), *moments(run))]
    try:
        run.runner.load(folder, run.optimizer)
    except Error as error:
        assert all(map(torch.equal, before, (*run.runner.state_dict().values(), *moments(run))))
        return error.code
    return None


def moments(run: Run) -> list[torch.Tensor]:
    return [tensor for state in run.optimizer.state_dict()["state"].values() for tensor in state.values()]


def test_hostile_files(written: tuple[Run, Path, Path]) -> None:
    run, part, index = written
    whole = part.read_bytes(), index.read_bytes()
    run.updated(1)
    found = {}
    for name, change in HOSTILE.items():
        change(part, index)
        found[name] = refused(run, part.parent)
        if part.is_dir():
            part.rmdir()
        part.unlink(missing_ok=True)
        part.write_bytes(whole[0])
        index.write_bytes(whole[1])
    missing = dict.fromkeys(("no part", "a folder", "a pipe", "no index"), "E0102")
    assert found == {**dict.fromkeys(HOSTILE, "E0807"), **missing}
    assert refused(run, part.parent) is None


def test_every_cut_and_changed_bytes_of_the_header(written: tuple[Run, Path, Path], rng: np.random.Generator) -> None:
    run, part, _ = written
    whole = part.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    for length in (*rng.integers(0, len(whole), 20).tolist(), 7, 8, start, len(whole) - 1):
        part.write_bytes(whole[:length])
        assert refused(run, part.parent) == "E0807"
    for place in rng.integers(0, start, 80).tolist():
        part.write_bytes(whole[:place] + bytes([whole[place] ^ int(rng.integers(1, 256))]) + whole[place + 1 :])
        assert refused(run, part.parent) in (None, "E0807")  # None: a space, a digit of a place


def test_a_write_that_fails_leaves_the_old_checkpoint(written: tuple[Run, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    run, part, _ = written
    before = {name: value.clone() for name, value in run.runner.state_dict().items()}
    files = sorted(os.listdir(part.parent))
    run.updated(1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(Error, match="E0103"):
            run.runner.save(part.parent, run.optimizer)
    assert sorted(os.listdir(part.parent)) == files
    run.runner.load(part.parent, run.optimizer)
    assert all(torch.equal(value, before[name]) for name, value in run.runner.state_dict().items())
    run.runner.save(part.parent, run.optimizer)
    assert len(os.listdir(part.parent)) == 2  # the old part is gone


def test_stages_of_no_common_model_may_use_a_name_twice(alone: Mesh, tmp_path: Path) -> None:
    def made() -> Runner:
        stages = [nn.Sequential(nn.Linear(2, 3)), nn.Sequential(nn.Linear(3, 2))]
        return Runner(mesh=alone, stages=stages, loss=nn.MSELoss(), microbatches=2, schedule="interleaved", target=None)

    one, other = made(), made()
    one.save(tmp_path)
    other.load(tmp_path)
    assert all(map(torch.equal, one.parameters(), other.parameters()))


def test_optimizers_whose_state_is_not_kept(alone: Mesh, tmp_path: Path) -> None:
    run = Run(alone, 10)
    with pytest.raises(Error, match="E0101"):
        run.runner.save(tmp_path, torch.optim.Adagrad(run.runner.parameters()))
    assert os.listdir(tmp_path) == []

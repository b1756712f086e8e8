"""Every option of training works as a flag, a variable and a key of a TOML file: the same archives, and the same runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ttc.train.digits import write_archive, write_model, write_samples
from ttc.cli import main
from ttc.settings.loop_options import LoopOptions
from ttc.settings.records import flag_of, settings, variable_of
from ttc.settings.train_options import TrainOptions

WAYS = ("flag", "variable", "toml")
LOSS: dict[str, object] = {"loss": "cross_entropy:label_smoothing=0.1", "optimizer": "adam:lr=0.01"}
TRAIN: dict[str, dict[str, object]] = {
    "loss": {"loss": "mse"},
    "optimizer": LOSS,
    "training": {"training": True},
    "loss_output": {**LOSS, "loss_output": "scores"},
    "microbatches": {**LOSS, "microbatches": 3},
    "clip_norm": {**LOSS, "clip_norm": 0.5},
    "clip_value": {**LOSS, "clip_value": 0.25},
    "loss_scale": {**LOSS, "loss_scale": 128.0},
    "batch_norm": {**LOSS, "batch_norm": "given"},
    "recompute": {**LOSS, "recompute": "all"},
    "memory": {**LOSS, "recompute": "auto", "memory": 64},
    "stash": {"training": True, "stash": True},
    "input_gradients": {**LOSS, "input_gradients": True},
    "check_gradients": {**LOSS, "check_gradients": True},
}
"""For each option of training programs a set of options with it."""
LOOP: dict[str, dict[str, object]] = {
    "data": {},
    "val": {"val": "data.npz"},
    "epochs": {"epochs": 2},
    "batch": {"batch": 8},
    "partial": {"batch": 16, "partial": "drop"},
    "lr": {"lr": 0.5},
    "schedule": {"schedule": "step:step_size=2,gamma=0.5"},
    "shuffle": {"shuffle": True},
    "seed": {"shuffle": True, "seed": 3},
    "checkpoint": {"checkpoint": "folder"},
    "every": {"checkpoint": "folder", "every": 2},
    "keep": {"checkpoint": "folder", "every": 1, "keep": 4},
    "resume": {"checkpoint": "folder", "resume": "auto"},
    "stop_at_nan": {"stop_at_nan": True},
    "log": {"log": "log.csv"},
    "curve": {"curve": "curve.svg"},
    "engine": {"engine": "reference"},
    "exact": {"exact": True},
    "stochastic_rounding": {"exact": True, "stochastic_rounding": 1},
    "threads": {"threads": 1},
}
"""For each option of `ttc train` a set of options with it, beside the data."""


def arguments(way: str, options: dict[str, object], table: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a command gets, and the files and variables beside it."""
    if way == "toml":
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items())
        (folder / "options.toml").write_text(f"[{table}]\n{text}")
        return ["--config", str(folder / "options.toml")]
    if way == "variable":
        for name, value in options.items():
            monkeypatch.setenv(variable_of(name), str(value).lower() if isinstance(value, bool) else str(value))
        return []
    pairs = [[flag_of(name)] if value is True else [flag_of(name), str(value)] for name, value in options.items()]
    return [word for pair in pairs for word in pair]


def left(folder: Path) -> dict[str, bytes]:
    """What lies in a folder beside what was put there."""
    given = ("options.toml", "data.npz", "digits.onnx", "digits.tti")
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in given
    }


@pytest.mark.parametrize("name", [item.name for item, _ in settings(TrainOptions)])
def test_programs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(folder: Path, way: str, options: dict[str, object]) -> dict[str, bytes]:
        folder.mkdir()
        write_model(folder / "digits.onnx")
        with monkeypatch.context() as patched:
            patched.chdir(folder)
            words = arguments(way, options, "training", folder, patched)
            assert main(["compile", "digits.onnx", "--target", "host", *words, "-o", "out.tti", "-q"]) == 0
        return left(folder)

    first, *others = (compiled(tmp_path / way, way, TRAIN[name]) for way in WAYS)
    assert others == [first] * 2
    without = {key: value for key, value in TRAIN[name].items() if key != name}
    assert (compiled(tmp_path / "without", "flag", without) == first) is (name == "check_gradients")


@pytest.mark.parametrize("name", [item.name for item, _ in settings(LoopOptions)])
def test_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    archive, found = write_archive(tmp_path), []
    for way in WAYS:
        folder = tmp_path / way
        folder.mkdir()
        write_samples(folder / "data.npz")
        with monkeypatch.context() as patched:
            patched.chdir(folder)
            words = arguments(way, {"data": "data.npz", **LOOP[name]}, "train", folder, patched)
            assert main(["train", str(archive), *words, "-o", "out.tti", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        found.append(({key: told[key] for key in ("updates", "loss", "batch", "rows")}, left(folder)))
    first = found[0]
    for other in found[1:]:
        assert other[0] == first[0]
        assert other[1].keys() == first[1].keys()
        assert other[1]["out.tti"] == first[1]["out.tti"]

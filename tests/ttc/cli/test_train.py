"""`ttc train`: what it prints and leaves, kills and interrupts, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from tests.ttc.train.digits import BATCH, ROWS, samples, write_archive, write_model, write_samples
from ttc.cli import main
from ttc.train.log import read_log


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_archive(tmp_path_factory.mktemp("archive"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "data.npz")


def train(*arguments: object) -> int:
    return main(["train", *map(str, arguments)])


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ttc", "train", *map(str, arguments)]


def trained_bits(path: Path) -> dict[str, Any]:
    with ttc.load(path) as executor:
        return {**executor.parameters(), **executor.states()}


def test_a_row_an_epoch_and_what_is_left(archive: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, log, curve, folder = tmp_path / "out.tti", tmp_path / "log.jsonl", tmp_path / "curve.svg", tmp_path / "checkpoints"
    files = ["--log", log, "--curve", curve, "--checkpoint", folder, "-o", out]
    assert train(archive, "--data", data, "--val", data, "--epochs", 3, "--lr", "0.05", *files) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["epoch", "updates", "loss"]
    assert [row.split()[:2] for row in rows] == [[str(i), str(i * ROWS // BATCH)] for i in (1, 2, 3)]
    assert len(read_log(log)) == 3 * ROWS // BATCH
    assert curve.read_text().startswith("<svg")
    assert [path.name for path in sorted(folder.iterdir())] == ["update-00000012.safetensors", "update-00000018.safetensors"]
    rows_of_one = {name: value[:BATCH] for name, value in samples().items()}
    with ttc.load(out) as executor, ttc.load(archive) as before:
        found = executor.run(rows_of_one, "evaluate")["loss.sum"]
        assert float(found) < float(before.run(rows_of_one, "evaluate")["loss.sum"])
        assert executor.states()["optimizer.step"] == 18


def test_json(archive: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "checkpoints"
    for resumed, loss in ((None, True), (ROWS // BATCH, False)):
        assert train(archive, "--data", data, "--checkpoint", folder, "--resume", "auto", "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["updates"], found["resumed_at"], found["batch"], found["rows"]) == (ROWS // BATCH, resumed, BATCH, ROWS)
        assert (found["loss"] is not None) is loss
        assert found["checkpoint"] == str(folder / "update-00000006.safetensors")


def test_killed_at_any_moment_the_run_gives_the_same_bits(archive: Path, data: Path, tmp_path: Path, rng: np.random.Generator) -> None:
    def run(folder: str) -> list[str]:
        files = ["--checkpoint", tmp_path / folder, "--log", tmp_path / f"{folder}.csv", "-o", tmp_path / f"{folder}.tti"]
        options = ["--epochs", 40, "--every", 3, "--shuffle", "--schedule", "cosine", "--threads", 1, "--resume", "auto", "-q"]
        return command(archive, "--data", data, *options, *files)

    subprocess.run(run("whole"), check=True)
    kills = 0
    for lines in sorted(rng.integers(1, 240, 4).tolist()):
        process, log = subprocess.Popen(run("killed")), tmp_path / "killed.csv"
        while process.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") > lines):
            time.sleep(0.001)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
    subprocess.run(run("killed"), check=True)
    assert kills > 1
    wanted, found = trained_bits(tmp_path / "whole.tti"), trained_bits(tmp_path / "killed.tti")
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    logs = [[(line.update, line.loss) for line in read_log(tmp_path / f"{name}.csv")] for name in ("whole", "killed")]
    assert logs[0] == logs[1]
    assert len(list((tmp_path / "killed").iterdir())) == 2


def test_an_interrupt_ends_it(archive: Path, data: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"

    def interruptible() -> None:  # also where that of the tests ignores interrupts, as shells have it in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    endless = command(archive, "--data", data, "--epochs", 1_000_000, "--log", log)
    process = subprocess.Popen(endless, stderr=subprocess.PIPE, preexec_fn=interruptible)
    while not log.exists() or log.stat().st_size < 200:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    assert process.communicate(timeout=20)[1].endswith(b"interrupted\n")
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "E0101"),
        (["--data", "absent.npz"], "E0102"),
        (["--data", "DATA", "--resume", "auto"], "E0101"),
        (["--data", "DATA", "--schedule", "cosin"], "E0101"),
        (["--data", "DATA", "--log", "log.txt"], "E0101"),
        (["--data", "DATA", "--lr", "nan"], "E0101"),
        (["--data", "DATA", "--batch", "5"], "E0801"),
        (["--data", "DATA", "--checkpoint", "DATA"], "E0103"),
        (["--data", "DATA", "--resume", "DATA"], "E0807"),
        (["--data", "ARCHIVE"], "E0801"),
        (["--data", "DATA", "--stochastic-rounding", "1"], "E0101"),
        (["--data", "DATA", "--exact", "--engine", "native"], "E0101"),
    ],
)
def test_what_is_refused(
    archive: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    there = sorted(path.name for path in tmp_path.iterdir())
    named = {"DATA": str(data), "ARCHIVE": str(archive)}
    assert train(archive, *(named.get(argument, argument) for argument in arguments)) == 2
    assert capsys.readouterr().err.count(f"error[{code}]") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == there


def test_as_the_device_computes(data: Path, tmp_path: Path) -> None:
    archive, out = write_archive(tmp_path, target="n150", format="Float16_b"), tmp_path / "out.tti"

    def trained(*flags: object) -> dict[str, Any]:
        assert train(archive, "--data", data, "--epochs", 2, "-o", out, "-q", *flags) == 0
        return trained_bits(out)

    def seeded(seed: int, *flags: object) -> dict[str, Any]:
        return trained("--exact", "--stochastic-rounding", seed, *flags)

    folder = tmp_path / "checkpoints"
    first = seeded(1, "--checkpoint", folder)
    resumed = seeded(1, "--resume", sorted(folder.iterdir())[0])
    assert all(np.array_equal(first[name], resumed[name]) for name in first)
    for other in (trained(), trained("--exact"), seeded(2)):
        assert any(not np.array_equal(first[name], other[name]) for name in first)
        for name, value in first.items():
            assert np.abs(value - other[name]).max() < 0.1


def test_an_archive_for_inference(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_model(tmp_path / "m.onnx")
    ttc.compile(tmp_path / "m.onnx", target="host").save(tmp_path / "m.tti")
    assert train(tmp_path / "m.tti", "--data", data) == 2
    assert "error[E0803]" in capsys.readouterr().err

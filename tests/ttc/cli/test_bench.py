"""`ttc bench`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ttc.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def archive(small_onnx: Path, capsys: Capture) -> Path:
    """The small model compiled for batch 2, on the host."""
    path = small_onnx.with_suffix(".tti")
    assert main(["compile", str(small_onnx), "-o", str(path), "--batch", "2", "--target", "host", "-q"]) == 0
    return path


def bench(*arguments: object) -> int:
    return main(["bench", "--engine", "reference", "--threads", "1", *map(str, arguments)])


def test_table(archive: Path, capsys: Capture) -> None:
    assert bench(archive, "--runs", 3, "--warm-up", 2) == 0
    captured = capsys.readouterr()
    assert captured.err == "note: random values for x (seed 0)\n"
    lines = captured.out.replace("\n  ", " ").splitlines()
    assert lines[0].split() == ["op", "source", "kernel", "steps", "ms", "share", "GFLOP/s", "GB/s", "roofline"]
    shares = [float(re.findall(r"([\d.]+)%", line)[0]) for line in lines[1:-3]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert re.match(r"latency: min .*, median .*, p90 .*, p99 .*, max ", lines[-3])
    assert re.match(r"throughput: .* runs/s one after the other, .* as a stream \(3 runs after 2 to warm up\); ops: ", lines[-2])
    assert re.match(r"roofline: .* GFLOP/s .* GB/s of copying on 1 threads", lines[-1])


def test_json_and_trace(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 8), np.float32))
    trace = tmp_path / "trace.json"
    assert bench(archive, "--seconds", 0.02, "--json", "--trace", trace, "--input", f"x={tmp_path / 'x.npy'}") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    assert (found["engine"], found["threads"], found["random_inputs"]) == ("reference", 1, [])
    times = found["seconds"]
    assert 0 < times["min"] <= times["p50"] <= times["p90"] <= times["p99"] <= times["max"]
    assert found["runs"] >= 1
    assert found["runs_per_second"] > 0 < found["streamed_runs_per_second"]
    assert sum(op["share"] for op in found["ops"]) == pytest.approx(1)
    jobs = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X" and event["tid"] == 1]
    assert {event["args"]["op"] for event in jobs} == {op["op"] for op in found["ops"]}
    assert {event["name"] for event in jobs} == {" + ".join(op["source"]) for op in found["ops"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "0"], "error[E0101]: --runs cannot be '0'\nhint: it takes a whole number of at least 1"),
        (["--seconds", "nan"], "error[E0101]: --seconds cannot be 'nan'\nhint: it takes a number of seconds, above 0 and at most 86400"),
        (["--program", "train"], "error[E0803]: there is no program 'train'"),
        (["--input", "y=y.npy"], "error[E0801]: there is no input 'y'"),
    ],
)
def test_errors(archive: Path, arguments: list[str], message: str, capsys: Capture) -> None:
    assert bench(archive, *arguments) == 2
    assert message in capsys.readouterr().err


def test_nothing_is_measured_that_could_not_be_written(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    assert bench(archive, "--trace", tmp_path / "missing" / "trace.json") == 2
    assert "error[E0103]" in capsys.readouterr().err


def test_hyper_parameters_have_the_archives_values(small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "trained.tti"
    made = ["compile", small_onnx, "-o", path, "--batch", 2, "--target", "host", "-q", "--loss", "mse", "--optimizer", "adamw:lr=0.001"]
    assert main([str(item) for item in made]) == 0
    assert bench(path, "--program", "step", "--runs", 1, "--json") == 0
    assert json.loads(capsys.readouterr().out)["random_inputs"] == ["x", "target"]

"""`tools/bench_peers.py` and its processes, on a model that takes no time."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import bench_measure
import bench_peers
from bench_engines import Job
from bench_measure import Failed, Fresh, Resident, launch, median_of, worker

pytest.importorskip("onnxruntime")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = relu(x w), with x and y of another library beside it."""
    rng = np.random.default_rng(0)
    w, x = (rng.standard_normal(shape).astype(np.float32) for shape in ((8, 4), (2, 8)))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Relu", ["z"], ["y"])]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [2, 8]), ("y", [2, 4]))]
    graph = helper.make_graph(nodes, "small", ports[:1], ports[1:], [numpy_helper.from_array(w, "w")])
    path = tmp_path / "small.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    np.save(tmp_path / "small.in0.npy", x)
    np.save(tmp_path / "small.ref.npy", np.maximum(x @ w, 0))
    return path


def refuse(model: Path, folder: Path) -> Path:
    raise FileNotFoundError("no such tool")


def test_engines_take_turns(model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ours beside onnxruntime; a peer that is not there is named, and no error of ours."""
    monkeypatch.setattr(bench_measure, "TURN_SECONDS", 0.002)
    monkeypatch.setattr(bench_peers, "build_iree", refuse)
    arguments = [
        "--models",
        "small",
        "--folder",
        str(model.parent),
        "--engines",
        "ours,iree,onnxruntime",
        "--skip",
        "compile,load",
        "--json",
    ]
    assert bench_peers.main([*arguments, "--our-engine", "reference"]) == 0
    plain = json.loads(capsys.readouterr().out)
    (found,) = plain["models"]
    assert found["model_bytes"] == model.stat().st_size
    assert [found["latency"][engine]["turns"] for engine in ("ours", "onnxruntime")] == [15, 15]
    assert all(0 < v["fastest"] <= v["median"] for v in found["latency"].values())
    assert all(v["max_abs"] < 1e-5 and v["within"] for v in found["errors"].values())
    assert set(found["memory"]) == {"ours", "onnxruntime"}
    assert all(10e6 < size < 400e6 for size in found["memory"].values())
    assert found["failed"] == {"iree": "no such tool"}
    assert (found["load"], found["compile"]) == ({}, {})
    assert plain["machine"]["threads"] == 2


def test_a_wrong_output_is_told(model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bench_measure, "TURN_SECONDS", 0.002)
    np.save(model.with_name("small.ref.npy"), np.full((2, 4), 7, np.float32))
    arguments = ["--models", "small", "--folder", str(model.parent), "--engines", "ours", "--skip", "compile,load,memory"]
    assert bench_peers.main(arguments) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "failed or out of bound: small: ours"


def test_an_engine_is_stopped_between_its_turns(model: Path, tmp_path: Path) -> None:
    with Resident(worker("onnxruntime", Job(model, None, 1, "reference"), tmp_path / "y.npz"), 1) as resident:
        resident.turn()
        (pid,) = [int(p) for p in os.listdir("/proc") if p.isdecimal() and _is_worker(int(p), tmp_path)]
        end = time.monotonic() + 60
        while (state := Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]) != "T" and time.monotonic() < end:
            time.sleep(0.01)
        assert state == "T"
        assert len(resident.turn()) >= 1
    assert not Path(f"/proc/{pid}").exists()


def _is_worker(pid: int, folder: Path) -> bool:
    try:
        return str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_fresh_processes() -> None:
    """Memory is that of the command, not of this process."""
    found = launch([sys.executable, "-S", "-c", "b = bytearray(50_000_000); import time; time.sleep(0.05)"], 1)
    assert 50e6 < found.peak_bytes < 80e6
    assert 0.05 < found.seconds < 60
    with pytest.raises(Failed, match="ValueError: no"):
        launch([sys.executable, "-c", "raise ValueError('no')"], 1)


def test_median_of() -> None:
    found = median_of([Fresh(3, 10, 1, 5), Fresh(1, 30, 2, 6), Fresh(2, 20, 3, 4)])
    assert found == Fresh(2, 30, 2, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engines", "ours,tvm"], "'ours,tvm' is not of ours, ours-n150"),
        (["--skip", "everything"], "'everything' is not of latency, load, compile, memory"),
        (["--rounds", "3"], "it is at least 15"),
    ],
)
def test_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench_peers.main(arguments)
    assert message in capsys.readouterr().err

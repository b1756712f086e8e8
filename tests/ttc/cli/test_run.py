"""`ttc run`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.runtime.conftest import counter  # noqa: F401 - a fixture
from ttc.cli import main
from ttc.runtime.archive import write_archive

Capture = pytest.CaptureFixture[str]
X = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)


@pytest.fixture
def archive(small_onnx: Path, capsys: Capture) -> Path:
    """The small model compiled for batch 2."""
    path = small_onnx.with_suffix(".tti")
    assert main(["compile", str(small_onnx), "-o", str(path), "--batch", "2", "-q"]) == 0
    return path


def run(*arguments: object) -> int:
    return main(["run", *map(str, arguments)])


def test_without_inputs_random_ones_are_taken(archive: Path, capsys: Capture) -> None:
    assert run(archive, "--seed", 3) == 0
    captured = capsys.readouterr()
    assert captured.err == "note: random values for x (seed 3)\n"
    assert captured.out.splitlines()[1].split()[:3] == ["probabilities", "float32", "2x4"]
    assert captured.out.splitlines()[2].startswith("time: ")


def test_check(archive: Path, small_onnx: Path, capsys: Capture) -> None:
    assert run(archive, "--check", small_onnx) == 0
    assert "check probabilities against " in capsys.readouterr().out
    model = onnx.load(small_onnx)
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.full(4, 7, np.float32) * np.arange(4, dtype=np.float32), "b"))
    other = small_onnx.with_name("other.onnx")
    onnx.save(model, other)
    assert run(archive, "--check", other) == 1
    captured = capsys.readouterr()
    assert "OUT OF bound" in captured.out


def test_json(archive: Path, small_onnx: Path, capsys: Capture) -> None:
    assert run(archive, "--json", "--repeat", 3, "--check", small_onnx) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["program"], found["random_inputs"], found["seed"]) == ("forward", ["x"], 0)
    assert [(o["name"], o["dtype"], o["shape"]) for o in found["outputs"]] == [("probabilities", "float32", [2, 4])]
    times = found["seconds"]
    assert times["runs"] == 3
    assert 0 < times["min"] <= times["median"] <= times["max"]
    assert found["check"]["within"] is True
    assert {"name", "max_abs", "relative_l2", "pcc", "bound"} <= set(found["check"]["outputs"][0])


def test_inputs_and_outputs_as_files(archive: Path, small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    from ttc.comparison.reference_outputs import reference_outputs

    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", x=X)
    expected = reference_outputs(small_onnx, {"x": X})[0]["probabilities"]
    for number, arguments in enumerate((["--input", f"x={tmp_path / 'x.npy'}"], ["--inputs", tmp_path / "x.npz"])):
        folder = tmp_path / f"out{number}"
        assert run(archive, *arguments, "--output-dir", folder) == 0
        np.testing.assert_allclose(np.load(folder / "probabilities.npy"), expected, atol=1e-6)
        assert json.loads((folder / "outputs.json").read_text())["outputs"][0]["name"] == "probabilities"
        assert capsys.readouterr().err == ""


def test_repeat_prints_the_spread(archive: Path, capsys: Capture) -> None:
    assert run(archive, "--repeat", 3, "--threads", 1, "--engine", "reference") == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("time: min ")
    assert line.endswith(" of 3 runs")


def test_exact(archive: Path, small_onnx: Path, capsys: Capture) -> None:
    outputs = []
    for flags in ((), ("--exact",), ("--exact", "--stochastic-rounding", 1), ("--exact", "--stochastic-rounding", 2)):
        assert run(archive, *flags, "--json", "--check", small_onnx) == 0
        outputs.append(json.loads(capsys.readouterr().out)["check"]["outputs"][0]["relative_l2"])
    assert outputs[0] < 1e-6 < outputs[1] < 1e-2
    assert outputs[1] == outputs[2] == outputs[3], "a Float32 archive has nothing to round"


def test_exact_on_the_host_says_that_it_is_idle(small_onnx: Path, capsys: Capture) -> None:
    path = small_onnx.with_suffix(".tti")
    assert main(["compile", str(small_onnx), "-o", str(path), "--batch", "2", "--target", "host", "-q"]) == 0
    assert run(path, "--exact") == 0
    assert "note: --exact changes nothing: target host is no device" in capsys.readouterr().err


def test_bad_calls(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    np.save(tmp_path / "wrong.npy", X.T)
    np.save(tmp_path / "pickled.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "file").write_text("")
    calls = {
        (tmp_path / "none.tti",): "E0102",
        (tmp_path / "file",): "E0701",
        (archive, "--input", f"x={tmp_path / 'wrong.npy'}"): "E0801",
        (archive, "--input", f"x={tmp_path / 'pickled.npy'}"): "E0801",
        (archive, "--input", f"y={tmp_path / 'wrong.npy'}"): "E0801",
        (archive, "--input", f"x={tmp_path / 'none.npy'}"): "E0102",
        (archive, "--inputs", tmp_path / "wrong.npy"): "E0801",
        (archive, "--program", "backward"): "E0803",
        (archive, "--engine", "turbo"): "E0101",
        (archive, "--repeat", 0): "E0101",
        (archive, "--stochastic-rounding", 1): "E0101",
        (archive, "--exact", "--stochastic-rounding", -1): "E0101",
        (archive, "--check", tmp_path / "none.onnx"): "E0102",
        (archive, "--output-dir", tmp_path / "file"): "E0103",
        (archive, "--output-dir", tmp_path / "none" / "deeper"): "E0103",
    }
    for arguments, code in calls.items():
        assert run(*arguments) == 2, arguments
        captured = capsys.readouterr()
        assert captured.err.startswith(f"error[{code}]: "), (arguments, captured.err)
        assert captured.out == ""


@pytest.fixture
def counting(tmp_path: Path, counter) -> Path:  # noqa: F811 - the fixture
    netlist, tensors, description = counter
    write_archive(tmp_path / "counter.tti", netlist=netlist, tensors=tensors, description=description)
    return tmp_path / "counter.tti"


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_states_go_from_run_to_run(counting: Path, tmp_path: Path, engine: str, capsys: Capture) -> None:
    first, second = tmp_path / "1.safetensors", tmp_path / "2.safetensors"
    assert run(counting, "--program", "step", "--repeat", 3, "--checkpoint", first, "--engine", engine, "-q") == 0
    assert run(counting, "--program", "step", "--restore", first, "--checkpoint", second, "--engine", engine, "-q") == 0
    for path, count in ((first, 3), (second, 4)):
        capsys.readouterr()
        assert run(counting, "--program", "peek", "--restore", path, "--json") == 0
        (now,) = json.loads(capsys.readouterr().out)["outputs"]
        assert (now["min"], now["max"]) == (count, count)


def test_checkpoints_that_cannot_be(counting: Path, archive: Path, small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    written = tmp_path / "c"
    assert run(counting, "--program", "step", "--checkpoint", written, "-q") == 0
    for arguments, code in (
        ((archive, "--restore", written), "E0807"),
        ((counting, "--restore", small_onnx), "E0807"),
        ((counting, "--restore", tmp_path / "missing"), "E0102"),
        ((counting, "--checkpoint", counting), "E0103"),
        ((counting, "--checkpoint", tmp_path / "missing" / "c"), "E0103"),
        ((counting, "--checkpoint", written, "--engine", "both"), "E0101"),
        ((archive, "--restore", written, "--check", small_onnx), "E0101"),
    ):
        capsys.readouterr()
        assert run(*arguments, "--program", "peek" if counting in arguments else "forward") == 2
        assert f"error[{code}]" in capsys.readouterr().err

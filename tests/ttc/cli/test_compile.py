"""`ttc compile`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import ttc
from tests.ttc.importers.onnx.cases import ints, model_of, normal
from ttc.cli import main

ROOT = Path(__file__).resolve().parents[3]
Capture = pytest.CaptureFixture[str]


def compile_(*arguments: object) -> int:
    return main(["compile", *map(str, arguments)])


def test_summary_goes_to_stdout(small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    assert compile_(small_onnx, "-o", tmp_path / "s.tti", "--batch", 2) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert [line.split()[0] for line in lines[:6]] == ["stage", "import", "nn", "tile", "netlist", "tti"]
    assert "of 72 cores" in lines[-2]
    assert lines[-1].startswith(f"{tmp_path / 's.tti'}: ")
    assert captured.err == ""
    assert sorted(os.listdir(tmp_path)) == ["s.tti", "small.onnx"]


def test_ir_goes_to_stdout_and_an_archive_does_not(
    small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert compile_(small_onnx, "--to", "nn", "-o", "n.mlir", "--batch", 2) == 0
    capsys.readouterr()
    assert compile_(small_onnx, "--to", "nn", "-o", "-", "--batch", 2) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (Path("n.mlir").read_text(), "")
    assert compile_(small_onnx, "-o", "-", "--batch", 2) == 2
    assert "error[E0103]: cannot write -: this goes into a file" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["n.mlir", "small.onnx"]


def test_quiet_and_verbose(small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    assert compile_(small_onnx, "-o", tmp_path / "s.tti", "--batch", 2, "-q") == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    assert compile_(small_onnx, "-o", tmp_path / "s.tti", "--batch", 2, "-v") == 0
    captured = capsys.readouterr()
    assert "fuse-bias" in captured.out
    assert all(line.startswith(("remark: ", "    ")) for line in captured.err.splitlines())

    assert compile_(small_onnx, "-o", tmp_path / "s.tti", "--batch", 2, "-q", "--remarks", "fuse-bias") == 0
    assert capsys.readouterr().err.startswith("remark: "), "-q does not keep back what was asked for"


@pytest.mark.parametrize("stage", ["import", "nn", "tile", "netlist"])
def test_to_a_stage(stage: str, small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    assert compile_(small_onnx, "-o", tmp_path / "s.mlir", "--shape", "x=2x8", "--to", stage) == 0
    assert f'ttc.stage = "{stage}"' in (tmp_path / "s.mlir").read_text().splitlines()[0]
    assert f"stage {stage}" in capsys.readouterr().out.splitlines()[-1]


def test_configuration(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[compile]\ntarget = "host"\nbatch = 3\n')
    monkeypatch.setenv("TTC_TO", "nn")
    assert compile_(small_onnx, "-o", tmp_path / "s.mlir", "--config", config, "--batch", 2) == 0
    first = (tmp_path / "s.mlir").read_text().splitlines()[0]
    assert 'target = "host"' in first
    assert "batch = 2" in first
    assert 'ttc.stage = "nn"' in first


def test_bad_calls_write_nothing(small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "s.tti"
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "random.onnx").write_bytes(bytes(range(256)))
    calls = {
        (tmp_path / "none.onnx", "-o", out): "E0102",
        (tmp_path, "-o", out): "E0102",
        (tmp_path / "empty.onnx", "-o", out): "E0201",
        (tmp_path / "random.onnx", "-o", out): "E0201",
        (small_onnx, "-o", out): "E0205",
        (small_onnx, "-o", out, "--shape", "y=2x8"): "E0206",
        (small_onnx, "-o", out, "--shape", "x=2x9"): "E0206",
        (small_onnx, "-o", tmp_path / "none" / "s.tti", "--batch", 2): "E0103",
        (small_onnx, "-o", tmp_path, "--batch", 2): "E0103",
        (small_onnx, "-o", "/dev/null", "--batch", 2): "E0103",
        (small_onnx, "-o", small_onnx, "--batch", 2): "E0103",
        (small_onnx, "-o", out, "--batch", 2, "--target", "n151"): "E0101",
        (small_onnx, "-o", out, "--batch", 2, "--config", tmp_path / "none.toml"): "E0102",
    }
    before = sorted(os.listdir(tmp_path))
    for arguments, code in calls.items():
        assert compile_(*arguments) == 2, arguments
        captured = capsys.readouterr()
        assert captured.err.startswith(f"error[{code}]: "), (arguments, captured.err)
        assert "Traceback" not in captured.err
        assert captured.out == ""
    assert sorted(os.listdir(tmp_path)) == before


def test_a_full_disk_leaves_nothing(small_onnx: Path, tmp_path: Path) -> None:
    """A limit on file sizes stands for the full disk: the same path through the code."""
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    call = f"from ttc.cli import main; sys.exit(main(['compile', {str(small_onnx)!r}, '-o', 's.tti', '--batch', '2']))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        [sys.executable, "-c", f"{limit}; {call}"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert found.stderr.startswith("error[E0103]: cannot write s.tti: ")
    assert os.listdir(tmp_path) == ["small.onnx"]


def test_a_model_cut_short(small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    data = small_onnx.read_bytes()
    cut = tmp_path / "cut.onnx"
    for part in range(1, 16):
        cut.write_bytes(data[: len(data) * part // 16])
        assert compile_(cut, "-o", tmp_path / "s.tti", "--batch", 2) == 2
        assert capsys.readouterr().err.startswith("error[E02")
    assert not (tmp_path / "s.tti").exists()


def test_a_buda_netlist_beside_the_archive(small_onnx: Path, tmp_path: Path, capsys: Capture) -> None:
    yaml, bundle = tmp_path / "s.yaml", tmp_path / "s.npz"
    options = ["--batch", 2, "--kernels", "buda", "--emit-netlist", yaml, "--emit-values", bundle]
    assert compile_(small_onnx, "-o", tmp_path / "s.tti", *options) == 0
    assert sorted(os.listdir(tmp_path)) == ["s.npz", "s.tti", "s.yaml", "small.onnx"]
    assert main(["netlist", "check", str(yaml)]) == 0
    assert main(["netlist", "run", str(yaml), "--inputs", str(bundle), "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--emit-netlist", "s.yaml"], "--kernels buda"),
        (["--emit-netlist", "s.yaml", "--kernels", "buda", "--to", "tile"], "to the end"),
        (["--emit-values", "s.npz", "--kernels", "buda"], "--emit-netlist"),
    ],
)
def test_what_cannot_be_emitted(small_onnx: Path, tmp_path: Path, capsys: Capture, options: list[str], hint: str) -> None:
    assert compile_(small_onnx, "-o", tmp_path / "s.tti", "--batch", 2, *options) == 2
    error = capsys.readouterr().err
    assert error.startswith("error[E0101]")
    assert hint in error
    assert os.listdir(tmp_path) == ["small.onnx"]


def test_the_name_of_the_output(small_onnx: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the model's, in the current folder; a model is never written over."""
    monkeypatch.chdir(tmp_path)
    assert compile_(small_onnx, "--batch", 2) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("small.tti: ")
    assert compile_(small_onnx, "--batch", 2, "--to", "nn", "-q") == 0
    text = (tmp_path / "small.mlir").read_text()
    assert compile_(tmp_path / "small.mlir", "--to", "tile") == 2
    assert "it is the input" in capsys.readouterr().err
    assert (tmp_path / "small.mlir").read_text() == text


def test_examples_fix_shapes(tmp_path: Path, capsys: Capture) -> None:
    nodes = [helper.make_node("Reshape", ["x", "sizes"], ["y"])]
    model = model_of(nodes, {"x": normal(2, 6), "sizes": ints(3, 4)}, ["y"])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(model, tmp_path / "m.onnx")
    out = tmp_path / "m.tti"
    np.savez(tmp_path / "in.npz", x=np.ones((2, 6), np.float32), sizes=np.array([3, 4]))
    assert compile_(tmp_path / "m.onnx", "-o", out, "--inputs", tmp_path / "in.npz") == 0
    with ttc.load(out) as executor:
        assert executor.run({"x": np.ones((2, 6), np.float32), "sizes": np.array([3, 4])})["y"].shape == (3, 4)
    np.save(tmp_path / "x.npy", np.ones((4, 6), np.float32))
    np.save(tmp_path / "sizes.npy", np.array([-1, 8]))
    one = ["--input", f"x={tmp_path / 'x.npy'}"]
    assert compile_(tmp_path / "m.onnx", "-o", out, *one, "--input", f"sizes={tmp_path / 'sizes.npy'}") == 0
    assert main(["check", str(tmp_path / "m.onnx"), *one, "--input", f"sizes={tmp_path / 'sizes.npy'}"]) == 0
    capsys.readouterr()
    refused = {
        (*one, *one): "E0801",
        (*one, "--inputs", tmp_path / "in.npz"): "E0801",
        ("--input", "x"): "E0101",
        ("--input", f"x={tmp_path / 'none.npy'}"): "E0102",
        ("--input", f"z={tmp_path / 'x.npy'}"): "E0206",
        ("--inputs", tmp_path / "m.onnx"): "E0801",
    }
    for arguments, code in refused.items():
        assert compile_(tmp_path / "m.onnx", "-o", out, *arguments) == 2
        assert capsys.readouterr().err.startswith(f"error[{code}]"), arguments
    np.save(tmp_path / "x.npy", np.ones((4, 6)))
    assert compile_(tmp_path / "m.onnx", "-o", out, *one) == 2
    assert "the value given is float64[4, 6]" in capsys.readouterr().err


def test_the_file_in_the_folder_of_a_saved_model(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"")
    assert compile_(tmp_path / "saved_model.pb", "-o", tmp_path / "m.tti") == 2
    assert f"hint: give its folder: {tmp_path}" in capsys.readouterr().err


def test_a_hint_for_open_dimensions_can_be_pasted(tmp_path: Path, capsys: Capture) -> None:
    nodes = [helper.make_node("Conv", ["image", "w"], ["c"]), helper.make_node("ReduceMean", ["c"], ["m"], axes=[1, 2, 3], keepdims=0)]
    nodes.append(helper.make_node("Add", ["m", "input bias"], ["y"]))
    model = model_of(nodes, {"image": normal(1, 3, 8, 8), "input bias": normal(1)}, ["y"], {"w": normal(4, 3, 3, 3)}, opset=13)
    for value, axes in zip(model.graph.input, ((0, 2, 3), (0,)), strict=True):
        for axis in axes:
            value.type.tensor_type.shape.dim[axis].dim_param = "nxhw"[axis]
    onnx.save(model, tmp_path / "m.onnx")
    assert compile_(tmp_path / "m.onnx", "-o", tmp_path / "m.tti") == 2
    hint = capsys.readouterr().err.splitlines()[-1].removeprefix("hint: fix them: ")
    assert hint == "--shape image=1x3x224x224 --shape 'input bias=1'"
    assert compile_(tmp_path / "m.onnx", "-o", tmp_path / "m.tti", *shlex.split(hint)) == 0

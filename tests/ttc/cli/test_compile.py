"""`ttc compile`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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

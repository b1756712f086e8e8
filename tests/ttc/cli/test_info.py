"""`ttc info`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ttc.cli import main

Capture = pytest.CaptureFixture[str]


def archive(model: Path, target: str) -> str:
    path = model.with_name(f"{target}.tti")
    assert main(["compile", str(model), "-o", str(path), "--batch", "2", "--target", target, "-q"]) == 0
    return str(path)


def test_json(small_onnx: Path, capsys: Capture) -> None:
    path = archive(small_onnx, "n150")
    assert main(["info", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["target"], found["options"]["batch"]) == ("small", "n150", 2)
    assert found["programs"]["forward"] == {
        "arguments": [{"name": "x", "kind": "input", "dtype": "float32", "shape": [2, 8]}],
        "results": [{"name": "probabilities", "kind": "output", "dtype": "float32", "shape": [2, 4]}],
    }
    assert found["cores"]["grid"] == 72
    assert (found["chip"]["arch"], found["chip"]["grid"]) == ("wormhole_b0", [9, 8])
    assert 1 <= found["cores"]["used"] <= 72
    assert sum(found["dram_bytes"].values()) > 0
    assert found["chips"] == [0]
    (memory,) = found["memory"]
    assert memory["chip"] == 0
    assert 0 < memory["bound_bytes"] <= memory["peak_bytes"] == sum(c["peak_bytes"] for c in memory["channels"]) < memory["room_bytes"]
    assert memory["fragmentation"] == round(1 - memory["bound_bytes"] / memory["peak_bytes"], 4)
    assert found["file_bytes"] == Path(path).stat().st_size
    assert found["tensor_bytes"] == 4 * (8 * 4 + 4)
    assert 0 < found["text_bytes"] < 4096
    assert found["numbers"]["format"]["found"] == ["Float32"]
    assert found["numbers"]["precision"]["found"] == ["float32"]


def test_text(small_onnx: Path, capsys: Capture) -> None:
    assert main(["info", archive(small_onnx, "host"), "-v"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0].endswith(" for host")
    assert "  input     x: float32[2, 8]" in lines
    assert "  output    probabilities: float32[2, 4]" in lines
    assert any(line.startswith("precision: float32 (") for line in lines)
    assert any(line.startswith("fidelity: - (") for line in lines)
    assert any(line.startswith("exports: from text of ") for line in lines)
    assert captured.err == ""


@pytest.mark.parametrize(("content", "code"), [(None, "E0102"), (b"", "E0701"), (bytes(range(256)) * 4, "E0701")])
def test_bad_archives(content: bytes | None, code: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "bad.tti"
    if content is not None:
        path.write_bytes(content)
    assert main(["info", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"error[{code}]: ")

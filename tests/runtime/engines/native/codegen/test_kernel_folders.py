"""Kernels that are compiled ahead: into the cache, or into a folder that goes with an archive."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ttc
from ttc.cli import main
from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.cache import _HEAD
from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders
from ttc.runtime.engines.native.execution import amx_check

ROOT = Path(__file__).resolve().parents[5]
INPUTS = {"x": np.ones((2, 8), np.float32)}


@pytest.fixture
def archive(small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive whose kernels lie in `kernels`, and a cache that is empty."""
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "cache"))
    amx_check._works.cache_clear()  # what it found out with another test's cache
    path, folder = tmp_path / "small.tti", tmp_path / "kernels"
    command = ["compile", str(small_onnx), "--target", "host", "--batch", "2", "-o", str(path), "--precompile-dir", str(folder), "-q"]
    assert main(command) == 0
    return path


def entries(folder: Path) -> list[str]:
    """Names of entries with code.  One without content says that tiles of AMX were tried."""
    return sorted(path.name for path in folder.glob("*.code") if path.stat().st_size > _HEAD.size)


def made(archive: Path, folder: Path | None) -> list[tuple[int, int]]:
    """Kernels that are compiled while an archive is loaded: (so many, of so many), in order."""
    told: list[tuple[int, int]] = []
    amx_check._works.cache_clear()
    with ttc.load(archive, precompiled=folder, on_compile=lambda *numbers: told.append(numbers)) as executor:
        assert executor.run(INPUTS)["probabilities"].sum() == pytest.approx(2)
    return sorted(told)


def test_a_folder_is_whole_and_used_where_it_is_named(archive: Path, tmp_path: Path) -> None:
    folder, cache = tmp_path / "kernels", tmp_path / "cache"
    assert oct(folder.stat().st_mode)[-3:] == "700"
    known = entries(folder)
    assert made(archive, folder) == []
    assert (entries(folder), entries(cache)) == (known, [])
    for path in cache.glob("*.code"):
        path.unlink()
    told = made(archive, None)
    assert told == [(number, len(told)) for number in range(1, len(told) + 1)]
    assert len(told) > 2
    assert entries(cache) == known


def test_ahead_into_the_cache(archive: Path, small_onnx: Path, tmp_path: Path) -> None:
    command = ["compile", str(small_onnx), "--target", "host", "--batch", "2", "-o", str(archive), "--precompile", "-q"]
    assert main(command) == 0
    assert entries(tmp_path / "cache") == entries(tmp_path / "kernels")
    assert made(archive, None) == []


def test_a_process_on_another_cache(archive: Path, tmp_path: Path) -> None:
    """Without LLVM: nothing is compiled, the check of AMX's tiles on a CPU that has them included."""
    shipped = tmp_path / "elsewhere"
    shutil.copytree(tmp_path / "kernels", shipped)
    code = "import sys; sys.modules['llvmlite.binding'] = None; from ttc.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "run", str(archive), "--random", "--engine", "native"]
    environment = {**os.environ, "TTC_CACHE_DIR": str(tmp_path / "new")}
    found = [
        subprocess.run([*command, *more], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
        for more in ([], ["--precompiled", str(shipped)])
    ]
    assert [done.returncode for done in found] == [2, 0], found
    assert "llvmlite is not installed" in found[0].stderr


def test_folders_that_are_not_trusted(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kernels"
    folder.chmod(0o777)
    for command, code in (
        (["run", str(archive), "--random", "--precompiled", str(folder)], "E0102"),
        (["run", str(archive), "--random", "--precompiled", str(tmp_path / "none")], "E0102"),
        (["run", str(archive), "--random", "--precompiled", str(folder), "--engine", "reference"], "E0101"),
        (["compile", str(tmp_path / "small.onnx"), "--batch", "2", "-o", str(archive), "--precompile-dir", "/", "-q"], "E0103"),
        (["compile", str(tmp_path / "small.onnx"), "--batch", "2", "-o", "a.mlir", "--to", "nn", "--precompile"], "E0101"),
    ):
        assert main(command) == 2
        assert f"error[{code}]" in capsys.readouterr().err
    folder.chmod(0o700)
    for path in folder.iterdir():
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    assert len(made(archive, folder)) > 2  # what is damaged is not executed


def test_reasons(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Error, match="Not a directory") as caught:
        KernelFolders(tmp_path / "file", fill=True).store()
    assert caught.value.code == "E0103"

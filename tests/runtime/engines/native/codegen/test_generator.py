"""The version of the generator changes with its sources and with LLVM, and is unknown when sources changed under the process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ttc.runtime.engines.native.codegen import generator

ROOT = Path(__file__).resolve().parents[5]


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kernels").mkdir()
    for name in ("a.py", "kernels/b.py"):
        write(tmp_path / name, "x = 1\n")
    monkeypatch.setattr(generator, "_SOURCES", tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    """A file that was written long ago."""
    path.write_text(text)
    os.utime(path, (1e9, 1e9))


def version() -> bytes | None:
    return generator.generator_version.__wrapped__()


def test_it_changes_with_the_sources(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [version()]
    write(sources / "kernels" / "b.py", "x = 2\n")
    found.append(version())
    (sources / "kernels" / "b.py").rename(sources / "kernels" / "c.py")
    found.append(version())
    monkeypatch.setattr(generator, "_llvm_version", lambda: b"0.99")
    found.append(version())
    assert len(set(found)) == 4
    assert None not in found
    (sources / "notes.txt").write_text("no source")
    assert version() == found[-1]


def test_sources_newer_than_the_process(sources: Path) -> None:
    os.utime(sources / "a.py", (time.time() + 1, time.time() + 1))
    assert version() is None


def test_when_a_process_began() -> None:
    code = "import time; time.sleep(0.5); from ttc.runtime.engines.native.codegen.generator import _process_start as s; print(s())"
    before = time.time()
    told = float(subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert before - 0.1 < told < time.time() - 0.4


def test_a_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "_PROCESS", Path("/nonexistent"))
    before = time.time()
    assert before <= generator._process_start() <= time.time()


def test_llvm_is_not_imported_for_it() -> None:
    code = (
        "import sys; from ttc.runtime.engines.native.codegen.generator import generator_version as v; v(); print('llvmlite' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def planner() -> bytes | None:
    return generator.sources_version.__wrapped__(generator._PACKAGES)


def test_plans_change_with_the_sources(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "_PACKAGES", (sources,))
    found = [planner()]
    write(sources / "kernels" / "b.py", "x = 3\n")  # of the same size and time: the entry's own time tells
    found.append(planner())
    (sources / "kernels" / "b.py").rename(sources / "kernels" / "c.py")
    found.append(planner())
    assert len(set(found)) == 3
    assert None not in found
    (sources / "__pycache__").mkdir()
    (sources / "__pycache__" / "a.py").write_text("compiled")
    (sources / "notes.txt").write_text("no source")
    assert planner() == found[-1]
    os.utime(sources / "a.py", (time.time() + 1, time.time() + 1))
    assert planner() is None
    assert generator.planner_version() is None

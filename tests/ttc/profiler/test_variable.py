"""TTC_PROFILE: traces of whole processes, of commands and scripts, and of those that they start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ttc
from ttc.profiler.variable import own_path, path_of_children

SCRIPT = """
import multiprocessing, os, subprocess, sys
import numpy as np
import ttc

def work():
    with ttc.profiler.region(multiprocessing.current_process().name):
        pass

if __name__ == "__main__":
    with ttc.profiler.region("script"), ttc.load("a.tti", threads=1) as executor:
        executor.run({"x": np.ones((2, 8), np.float32)})
    child = multiprocessing.get_context("spawn").Process(target=work, name="spawned")
    child.start()
    child.join()
    if os.fork() == 0:
        work()
        sys.exit()
    os.wait()
"""


@pytest.fixture
def folder(small_onnx: Path, tmp_path: Path) -> Path:
    ttc.compile(small_onnx, target="host", batch=2).save(tmp_path / "a.tti")
    return tmp_path


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60, check=False
    )


def names(path: Path, kind: str) -> list[str]:
    return [event["name"] for event in json.loads(path.read_text())["traceEvents"] if event.get("cat") == kind]


def test_a_script_and_the_processes_that_it_starts(folder: Path) -> None:
    (folder / "script.py").write_text(SCRIPT)
    done = run(folder, "script.py", TTC_PROFILE="trace.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert names(folder / "trace.json", "region") == ["script"]
    assert names(folder / "trace.json", "run") == ["forward"]
    (other,) = (path for path in folder.glob("trace.*.json") if path.name != "trace.json")
    assert names(other, "region") == ["spawned"]


def test_a_command(folder: Path) -> None:
    done = run(folder, "-m", "ttc", "run", "a.tti", "--random", "-q", TTC_PROFILE="trace.json", RANK="3")
    assert (done.returncode, done.stderr) == (0, "")
    path = folder / "trace.rank3.json"
    assert names(path, "run") == ["forward"]
    assert json.loads(path.read_text())["ttc"]["rank"] == 3


def test_a_file_that_cannot_be_written_is_warned_of(folder: Path) -> None:
    done = run(folder, "-c", "import ttc; print(ttc.__version__)", TTC_PROFILE="none/trace.json")
    assert (done.returncode, done.stdout) == (0, f"{ttc.__version__}\n")
    assert "TTC_PROFILE: cannot write none/trace.json" in done.stderr


@pytest.mark.parametrize("rank", ["a/b", "../x", "-1", "1" * 30, ""])
def test_a_rank_that_is_none_is_passed_over(folder: Path, rank: str) -> None:
    done = run(folder, "-c", "import ttc", TTC_PROFILE="trace.json", RANK=rank)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((folder / "trace.json").read_text())["ttc"]["rank"] == 0


@pytest.mark.parametrize("name", ["/", "."])
def test_a_folder_is_warned_of(folder: Path, name: str) -> None:
    done = run(folder, "-c", "import ttc", TTC_PROFILE=name, RANK="0")
    assert done.returncode == 0
    assert f"TTC_PROFILE: cannot write {name}: it exists and is not a regular file" in done.stderr


def test_doctor_names_the_file_that_is_written(folder: Path) -> None:
    done = run(folder, "-m", "ttc", "doctor", TTC_PROFILE="trace.json", RANK="3")
    assert "processes write trace.rank3.json" in done.stdout
    assert (folder / "trace.rank3.json").exists()


def test_names_of_files() -> None:
    assert own_path("a/t.json", None, 7) == Path("a/t.json")
    assert own_path("a/t.json", 2, 7) == Path("a/t.rank2.json")
    assert own_path("a/t.{pid}.json", 2, 7) == Path("a/t.7.json")
    assert own_path("/", 2, 7) == Path(path_of_children("/")) == Path("/")
    assert path_of_children("a/t.json") == path_of_children("a/t.{pid}.json") == "a/t.{pid}.json"

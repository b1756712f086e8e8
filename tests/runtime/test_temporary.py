"""Temporary files and folders of processes that live, and of those that were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ttc.runtime.atomic_file import replacing
from ttc.runtime.temporary import temporary_folder

ROOT = Path(__file__).resolve().parents[2]
WRITER = """
import sys, time
from pathlib import Path
from ttc.runtime.atomic_file import replacing
from ttc.runtime.temporary import temporary_folder
with temporary_folder("ttc-test-") as folder, replacing(Path(sys.argv[1])):
    (folder / "inside").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder of temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def writer(path: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that writes a file, and holds a temporary folder, until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def test_what_killed_processes_left_is_removed_by_the_next(tmp_path: Path, scratch: Path) -> None:
    target = tmp_path / "target"
    first, folder = writer(target)
    kill(first)
    assert folder.is_dir()
    (left,) = tmp_path.glob(".ttc-*.tmp")
    foreign = [tmp_path / ".ttc-x.tmp", scratch / "ttc-other"]
    foreign[0].write_text("x")
    foreign[1].mkdir()
    second, held = writer(target)
    assert (folder.exists(), left.exists(), held.is_dir()) == (False, False, True)
    with temporary_folder("ttc-test-") as own, replacing(target) as fd:
        os.write(fd, b"new")
        assert own.is_dir()
        assert len(list(tmp_path.glob(".ttc-*.tmp"))) == 3  # of this process, of the one that lives, of somebody else
    assert (held / "inside").is_file()
    assert (target.read_bytes(), own.exists(), [path.exists() for path in foreign]) == (b"new", False, [True, True])
    kill(second)


def test_an_error_leaves_nothing(tmp_path: Path, scratch: Path) -> None:
    with pytest.raises(ZeroDivisionError), temporary_folder("ttc-test-"), replacing(tmp_path / "f"):
        raise ZeroDivisionError
    assert (list(scratch.iterdir()), list(tmp_path.iterdir())) == ([], [scratch])


def test_links_are_left_alone(tmp_path: Path, scratch: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (scratch / "ttc-test-link").symlink_to(outside)
    with temporary_folder("ttc-test-") as folder:
        assert folder.parent == scratch
    assert outside.is_dir()
    assert (scratch / "ttc-test-link").is_symlink()

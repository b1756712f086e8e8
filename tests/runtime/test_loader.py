"""Loading: what it needs, what it imports, what it says when it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.archive import write_archive
from ttc.runtime.loader import load

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(counter, tmp_path: Path) -> Path:
    netlist, tensors, description = counter
    write_archive(tmp_path / "counter.tti", netlist=netlist, tensors=tensors, description=description)
    return tmp_path / "counter.tti"


def test_running_an_archive_loads_no_compiler(path: Path):
    script = """
import sys
import numpy as np
from ttc.runtime.loader import load
outputs = load(sys.argv[1]).run({"x": np.zeros(4, np.float32)}, "step")
print(outputs["y"].tolist(), [m for m in ("xdsl", "onnx", "torch", "tensorflow", "ttc.passes") if m in sys.modules])
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script, str(path)], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[0.0, 0.0, 0.0, 0.0] []", done.stderr


def test_engines_and_threads_are_checked(path: Path):
    with pytest.raises(Error) as failure:
        load(path, engine="referenze")
    assert (failure.value.code, failure.value.hint) == ("E0803", "did you mean 'reference'?")
    with pytest.raises(Error) as failure:
        load(path, threads=0)
    assert failure.value.code == "E0101"
    with pytest.raises(Error, match="100000 threads are more") as failure:
        load(path, threads=100_000)
    assert failure.value.code == "E0101"
    assert load(path, threads=1).program.entry("peek").name == "peek"


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_small_archive_that_is_cut_while_it_is_loaded_runs_on(path: Path, engine: str) -> None:
    session = load(path, engine=engine, threads=1)
    before = session.run({}, "peek")
    os.truncate(path, 100)
    after = session.run({}, "peek")
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("change", ["cut", "written"])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_mapped_archive_that_is_changed_while_it_is_loaded(path: Path, change: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttc.runtime.read_file.COPIED_BYTES", 0)
    session = load(path, engine=engine, threads=1)
    inputs = {"x": np.zeros(4, np.float32)}
    assert session.run(inputs, "step")["y"].shape == (4,)
    path.rename(path.with_suffix(".old"))
    assert session.run(inputs, "step")["y"].shape == (4,)
    if change == "cut":
        os.truncate(path.with_suffix(".old"), 100)
    else:
        os.utime(path.with_suffix(".old"), ns=(1, 1))
    with pytest.raises(Error, match="changed while it was in use") as failure:
        session.run(inputs, "step")
    assert failure.value.code == "E0704"

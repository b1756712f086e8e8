"""What ends the process of a command, and how soon."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.conftest import small_model
from ttc.cli import main

ROOT = Path(__file__).resolve().parents[3]
LIMIT_SECONDS = 60.0
"""For what takes a second on a quiet machine."""
_PRODUCTS, _ROWS, _COLUMNS = 40, 8192, 2048
"""Sizes of the long run: 2.7 TFLOP, half a minute of a thread."""


def long_model() -> onnx.ModelProto:
    """x times w, again and again."""
    names = ["x", *(f"v{i}" for i in range(1, _PRODUCTS)), "y"]
    nodes = [helper.make_node("MatMul", [a, "w"], [b]) for a, b in zip(names, names[1:], strict=False)]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [_ROWS, _COLUMNS]) for name in ("x", "y")]
    weights = helper.make_tensor("w", TensorProto.FLOAT, [_COLUMNS, _COLUMNS], bytes(4 * _COLUMNS**2), raw=True)
    graph = helper.make_graph(nodes, "long", values[:1], values[1:], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def started(*arguments: str) -> subprocess.Popen[bytes]:
    """A process of the command, which takes signals also where that of the tests ignores them, as under nohup."""

    def interruptible() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    command = [sys.executable, "-m", "ttc", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=interruptible)


def seconds_of_children() -> float:
    """Processor time of all children that have ended, which other work on the machine does not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_for_own_code(process: subprocess.Popen[bytes]) -> None:
    """Wait until the process handles SIGINT itself, which Python does before our code: then until that has begun."""
    status = Path(f"/proc/{process.pid}/status")
    caught = 1 << signal.SIGTERM - 1
    while process.poll() is None:
        line = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt"))
        if int(line.split()[1], 16) & caught:
            return


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("after_seconds", [0.0, 0.02, 0.06, 0.15])
def test_while_it_begins(number: signal.Signals, after_seconds: float, small_onnx: Path, tmp_path: Path) -> None:
    process = started("compile", str(small_onnx), "--batch", "2", "-o", str(tmp_path / "a.tti"))
    wait_for_own_code(process)
    time.sleep(after_seconds)
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, out, err) == (128 + number, b"", b"interrupted\n")
    assert not list(tmp_path.glob(".*"))


def test_nothing_is_loaded_before_interrupts_are_taken() -> None:
    """Until then an interrupt is a traceback of Python's own: only modules of C, and those that any process has, come before."""
    script = "before = set(sys.modules); import ttc.__main__; print(*sorted(set(sys.modules) - before))"
    command = [sys.executable, "-I", "-S", "-c", f"import os, sys; sys.path.insert(0, {str(ROOT)!r}); {script}"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True)
    loaded = {name for name in found.stdout.split() if name not in sys.builtin_module_names and not name.startswith("importlib")}
    assert {"ttc", "ttc.__main__", "ttc.process", "ttc.process.interrupts"} <= loaded
    assert {name for name in loaded if not name.startswith("ttc")} <= {"warnings"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_native_code_runs(number: signal.Signals, tmp_path: Path) -> None:
    model, archive = tmp_path / "long.onnx", tmp_path / "long.tti"
    onnx.save(long_model(), model)
    assert main(["compile", str(model), "--target", "host", "-o", str(archive), "-q"]) == 0
    before = seconds_of_children()
    process = started("run", str(archive), "--random", "--threads", "1")
    assert process.stderr is not None
    assert process.stderr.readline().startswith(b"note: random values")
    time.sleep(0.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, err) == (128 + number, b"interrupted\n")
    assert seconds_of_children() - before < 10.0  # of processor time: the run takes longer on any machine


def test_ignored_signals_stay_ignored(small_onnx: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ttc", "compile", str(small_onnx), "--batch", "2", "-o", str(tmp_path / "a.tti")]
    ignoring = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    process = subprocess.Popen(command, cwd=ROOT, preexec_fn=ignoring)
    wait_for_own_code(process)
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT_SECONDS) == 0


def test_statuses_and_output_of_whole_processes(tmp_path: Path) -> None:
    found = started("targets", "--json").communicate(timeout=LIMIT_SECONDS)
    assert found[0].endswith(b"]\n") or found[0].endswith(b"}\n")
    process = started("explain", "E9999")
    assert process.communicate(timeout=LIMIT_SECONDS)[1].startswith(b"error[E")
    assert process.returncode == 2
    reader, writer = os.pipe()
    os.close(reader)
    closed = subprocess.run([sys.executable, "-m", "ttc", "targets"], cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (closed.returncode, closed.stderr) == (141, b"")


@pytest.mark.parametrize("megabytes", [60, 75, 90, 105, 120])
@pytest.mark.parametrize("command", ["run", "info", "targets", "compile"])
def test_little_address_space(megabytes: int, command: str, tmp_path: Path) -> None:
    model, archive = tmp_path / "small.onnx", tmp_path / "a.tti"
    onnx.save(small_model(), model)
    assert main(["compile", str(model), "--batch", "2", "-o", str(archive), "-q"]) == 0
    arguments = {"compile": [str(model), "-o", str(archive)], "run": [str(archive), "--random"], "info": [str(archive)]}.get(command, [])
    script = f'ulimit -c 0; ulimit -v {megabytes * 1000}; exec "$@"'
    whole = ["bash", "-c", script, "bash", sys.executable, "-m", "ttc", command, *arguments]
    found = subprocess.run(whole, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    lines = found.stderr.splitlines()
    assert (found.returncode, found.stdout, len(lines)) == (2, "", 2), found.stderr
    assert lines[0].startswith("error[E0104]: there is not enough memory: numpy needs ")
    assert lines[1].endswith("raise the limit (ulimit -v)")

"""Exit statuses, messages, and what a closed pipe or an interrupt does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import ttc.cli.targets
from tests.archives import run_alike
from tests.conftest import small_model
from ttc.cli import main
from ttc.dialects.core.errors import Error

ROOT = Path(__file__).resolve().parents[3]


def test_without_arguments_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    commands = [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines() if line.startswith("  ") and line[2] != " "]
    assert commands == [
        "compile",
        "export",
        "run",
        "generate",
        "train",
        "bench",
        "check",
        "bisect",
        "info",
        "targets",
        "opt",
        "diff",
        "repro",
        "reduce",
        "explain",
        "passes",
        "tune-precision",
        "netlist",
        "perf",
        "trace",
        "view",
        "cache",
        "doctor",
    ]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ttc {ttc.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["comp"], "error[E0101]: there is no command 'comp'\nhint: did you mean 'compile'?\n"),
        (["info", "--jsn", "x"], "error[E0101]: there is no option '--jsn'\nhint: did you mean '--json'?\n"),
        (["info"], "error[E0101]: Missing argument 'ARCHIVE'\nhint: see ttc info --help\n"),
        (["compile"], "error[E0101]: Missing argument 'MODEL'\nhint: see ttc compile --help\n"),
        (["run", "m.tti", "--threads", "0"], "error[E0101]: --threads cannot be '0'\nhint: it takes a whole number of at least 1\n"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", message)


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(ttc.cli.targets.command, "callback", fail)


def test_errors_show_a_traceback_only_with_v(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, Error("E0503", "no", where="here"))
    assert main(["targets"]) == 2
    assert capsys.readouterr().err == "error[E0503]: here: no\n"
    assert main(["targets", "-v"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("x"), 3), (KeyboardInterrupt(), 130), (MemoryError(), 2), (BrokenPipeError(), 141)]
)
def test_statuses(error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, error)
    monkeypatch.setattr("ttc.cli.app._silence_stdout", lambda: None)
    assert main(["targets"]) == status
    captured = capfd.readouterr().err
    assert "Traceback" not in captured
    assert ("please report" in captured) == (status == 3)


def test_an_interrupt_that_python_wraps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Python 3.11 raises an error of its own for what ends `__set_name__`; libraries do so elsewhere."""

    class Field:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(ttc.cli.targets.command, "callback", lambda **_: type("Owner", (), {"field": Field()}))
    assert main(["targets"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_full_disk_behind_stdout(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        child = process("targets", stdout=full)
        _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (2, "error[E0103]: cannot write to stdout: No space left on device\n")


def test_control_characters_are_not_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, Error("E0201", "bad \x1b[2J name"))
    main(["targets"])
    assert capsys.readouterr().err == "error[E0201]: bad \\x1b[2J name\n"


def process(*arguments: str, **more: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ttc", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, **more)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_a_closed_pipe_leaves_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    child = process("targets", stdout=writer)
    os.close(writer)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (141, "")


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("ttc.inputs.files.require_input", lambda path: signal.raise_signal(signal.SIGINT))
    assert main(["info", "archive.tti"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_warnings_are_printed_once(
    small_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTC_PORT", "tcp://10.0.0.1:80")
    archive, command = tmp_path / "a.tti", ["compile", str(small_onnx), "--batch", "2", "-o", str(tmp_path / "a.tti")]
    monkeypatch.setenv("TTC_CACHE_DIR", "/dev/null/x")
    assert main(command) == 0
    assert main(["run", str(archive), "--random"]) == 0
    reason = "TTC_CACHE_DIR=/dev/null/x: Not a directory"
    variable = "warning: variables that ttc does not know, passed over: TTC_PORT\n"
    kernels = f"warning: compiled kernels are not kept from one process to the next: {reason}\n"
    assert capsys.readouterr().err == variable + variable + kernels + "note: random values for x (seed 0)\n"
    assert main([*command, "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_a_system_without_further_threads(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, RuntimeError("can't start new thread"))
    assert main(["targets"]) == 2
    assert capsys.readouterr().err.startswith("error[E0104]: the system starts no further thread\nhint: ask for fewer threads")


HOSTILE = "a\nerror[E0901]: b\r\x1b[31m\u2028\u202e\u200bz"


def test_names_write_no_lines_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Whatever is printed, no line begins with what a name holds after its line break, and no character is one that a terminal obeys."""
    model = small_model()
    for number, node in enumerate(model.graph.node):
        node.name = f"{HOSTILE}{number}"
    model.graph.input[0].name = model.graph.node[0].input[0] = f"x{HOSTILE}"
    model.graph.output[0].name = model.graph.node[-1].output[0] = f"y{HOSTILE}"
    onnx.save(model, tmp_path / "m.onnx")
    model.graph.node[1].op_type = f"No{HOSTILE}"
    onnx.save(model, tmp_path / "wrong.onnx")
    commands = """compile m.onnx --batch 2 -o m.tti -v --print-after fuse-* --print-locations --remarks *
    compile m.onnx --batch 2 --to tile -o m.mlir
    compile m.mlir --weights m.tti -o again.tti -v
    compile wrong.onnx --batch 2 -o w.tti
    check wrong.onnx --batch 2
    info m.tti
    perf m.tti
    bench m.tti --runs 2
    run m.tti --random --check m.onnx
    run m.tti --random --engine both
    run m.tti --input none=x.npy
    diff m.mlir m.mlir
    opt m.mlir -p cancel-tms"""
    monkeypatch.chdir(tmp_path)
    for command in commands.splitlines():
        status, said = main(command.split()), capfdbinary.readouterr()
        lines = (said.out + said.err).decode().split("\n")
        assert status in (0, 2), said.err
        assert [line for line in lines if not line.isprintable() or line.startswith("error[E0901]")] == [], command
    assert run_alike(tmp_path / "again.tti") == run_alike(tmp_path / "m.tti")


@pytest.mark.parametrize("command", ["compile", "run", "bench", "check", "info", "perf", "diff", "opt", "netlist check"])
def test_v_shows_where_an_error_was_raised(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    none = str(tmp_path / "none.mlir")
    more = {"diff": [none], "opt": ["-p", "canonicalize"]}.get(command, [])
    assert main([*command.split(), none, *more, "-v"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error[E0102]")
    assert "Traceback (most recent call last)" in error

"""Collects `*.mlir`: each file's `RUN:` lines are run in this process, and their output is matched with its `CHECK:` lines.

A line is `// RUN: ttc opt %s -p canonicalize | filecheck %s`; `%s` is the file, and `not` before `ttc` wants another status than 0.
`2>&1` matches what goes to stderr, too.
"""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser

from ttc.cli import main


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    """Files of IR."""
    return IrFile.from_parent(parent, path=file_path) if file_path.suffix == ".mlir" else None


class IrFile(pytest.File):
    """A file with RUN lines."""

    def collect(self) -> Iterator[pytest.Item]:
        commands = [line.partition("RUN:")[2].strip() for line in self.path.read_text().splitlines() if line.startswith("// RUN:")]
        if not commands:
            raise ValueError(f"{self.path} has no line that starts with '// RUN:'")
        for number, command in enumerate(commands):
            yield IrTest.from_parent(self, name=f"run{number}", command=command)


class IrTest(pytest.Item):
    """One RUN line."""

    def __init__(self, *, command: str, **more: object) -> None:
        super().__init__(**more)  # pyright: ignore[reportArgumentType]
        self.command = command

    def runtest(self) -> None:
        """Run the command, and match what it prints."""
        first, pipe, second = self.command.partition("|")
        words = shlex.split(first.replace("%s", shlex.quote(str(self.path))))
        fails = words[0] == "not"
        words = words[fails:]
        both = "2>&1" in words
        assert words[0] == "ttc", self.command
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([word for word in words[1:] if word != "2>&1"])
        assert (status != 0) == fails, f"status {status}\n{err.getvalue()}"
        if pipe:
            matched(self.path, shlex.split(second), out.getvalue() + (err.getvalue() if both else ""))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """The command and what is wrong."""
        return f"{self.path}: {self.command}\n{excinfo.value}"

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test stands."""
        return self.path, 0, f"{self.path.name}: {self.command}"


def matched(path: Path, words: Iterable[str], text: str) -> None:
    """Match a text with the CHECK lines of a file; words: `filecheck %s --check-prefix=NAME`."""
    name, file, *flags = words
    assert (name, file) == ("filecheck", "%s")
    prefixes = [flag.partition("=")[2] for flag in flags if flag.startswith("--check-prefix=")]
    options = Options(str(path), check_prefixes=prefixes or ["CHECK"])
    said = io.StringIO()
    matcher = Matcher(options, FInput("-", text), Parser.from_opts(options))
    matcher.stderr = said
    assert matcher.run() == 0, f"{said.getvalue()}\nin\n{text}"

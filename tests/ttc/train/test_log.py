"""Logs: their lines, and what is left of them after a kill."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.train.log import Log, LogLine, read_log

LINES = [
    LogLine(1, 1, 2.5, 0.1, None, None, 0.25),
    LogLine(2, 1, math.inf, 0.05, 1.25, 0.5, 0.5),
    LogLine(3, 2, 1e-9, 0.05, 2.5, None, 0.75),
]


@pytest.fixture(params=["log.csv", "log.jsonl"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return tmp_path / request.param


def written(path: Path, lines: list[LogLine], update: int = 0) -> Log:
    log = Log(path, update)
    for line in lines:
        log.write(line)
    log.close()
    return log


def test_lines_come_back(path: Path) -> None:
    written(path, LINES)
    assert read_log(path) == LINES


def test_a_run_that_goes_on_drops_what_its_checkpoint_lacks(path: Path) -> None:
    written(path, LINES)
    with path.open("a") as file:
        file.write(path.read_text().splitlines()[-1][:7])  # half a line
    assert written(path, LINES[1:], update=1).lines == LINES[:1]
    assert read_log(path) == LINES
    written(path, LINES[:1])
    assert read_log(path) == LINES[:1]


@pytest.mark.parametrize("text", ["x\n", "[1, 2]\n", '{"update": "x"}\n', "update,epoch\n1,2\n"])
def test_files_that_are_no_logs(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(Error) as caught:
        Log(path, 3)
    assert caught.value.code == "E0801"
    assert path.read_text() == text


def test_names(tmp_path: Path) -> None:
    with pytest.raises(Error, match="csv or .jsonl"):
        Log(tmp_path / "log.txt")

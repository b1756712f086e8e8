"""`ttc trace merge` and `ttc trace summary`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ttc.profiler.test_merging import trace_of
from ttc.cli import main


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for rank in range(2):
        (tmp_path / f"{rank}.json").write_text(json.dumps(trace_of(rank, 1000 * rank)))
    return [str(tmp_path / f"{rank}.json") for rank in range(2)]


def test_merge_and_summary(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "all.json"
    assert main(["trace", "merge", *files, "-o", str(out)]) == 0
    assert capsys.readouterr() == ("", f"{out}: 4 events of 2 processes\n")
    assert main(["trace", "summary", str(out)]) == 0
    table, total = capsys.readouterr().out.splitlines()[-2:]
    assert table.split() == ["run", "forward", "2", "0.004", "2.0", "100.0%", "-", "-"]
    assert total == "2 processes, 0.003 ms from the first event to the end of the last"


def test_summary_as_json(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "summary", files[0], "--json"]) == 0
    row = {"kind": "run", "name": "forward", "calls": 1, "micros": 2.0, "share": 1.0, "flops": 0.0, "bytes": 0.0}
    assert json.loads(capsys.readouterr().out) == {"processes": 1, "micros": 2.0, "rows": [row]}


@pytest.mark.parametrize("arguments", [["summary", "none.json"], ["merge", "-o", "x.json"], ["nonsense"], ["merge", "none.json"]])
def test_bad_input(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", *arguments]) == 2
    assert capsys.readouterr().err.startswith("error[E010")
    assert list(tmp_path.iterdir()) == []


def test_the_output_is_no_input(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(files[0]).read_text()
    assert main(["trace", "merge", *files, "-o", files[0]]) == 2
    assert "it is the input" in capsys.readouterr().err
    assert Path(files[0]).read_text() == before

"""`ttc doctor`."""

from __future__ import annotations

import json

import pytest

from ttc.cli import main


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert any(line.split()[:2] == ["ok", "numpy"] for line in out.splitlines())


def test_json_and_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TTC_THREADS", "none")
    assert main(["doctor", "--json"]) == 1
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows["numpy"]) == {"name", "state", "detail", "hint"}
    assert (rows["TTC_THREADS"]["state"], rows["numpy"]["state"]) == ("error", "ok")


def test_quiet_shows_what_is_not_well(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TTC_PORT", "80")
    assert main(["doctor", "-q"]) == 0
    out = capsys.readouterr().out
    assert "TTC_PORT" in out
    assert "numpy" not in out

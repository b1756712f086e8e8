"""`tools/dram.py`."""

from __future__ import annotations

import json

import pytest

import dram


def test_every_measured_bandwidth_is_met(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["dram.py", "--json"])
    assert dram.main() == 0
    found = json.loads(capsys.readouterr().out)
    assert [(point["target"], point["measured"]) for point in found["points"]] == [
        ("n150", 267.0),
        ("p150", 500.0),
        ("p150", 344.0),
        ("p150", 188.0),
        ("e150", 90.0),
    ]
    assert found["worst"] <= 0.05

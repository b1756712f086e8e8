"""`ttc targets`."""

from __future__ import annotations

import pytest

from ttc.cli import main


def test_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    captured = capsys.readouterr()
    rows = {line.split()[0]: line for line in captured.out.splitlines()[1:]}
    assert list(rows) == ["host", "n150"]
    assert "wormhole_b0" in rows["n150"]
    assert "9 x 8" in rows["n150"]
    assert captured.err == ""

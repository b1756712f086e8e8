"""`tools/check_exports.py`, on the quickest network; `make conformance-export` exports all 24."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="networks are made by PyTorch, which has no CPU build for this Python")
pytest.importorskip("transformers", reason="most networks are of transformers")

import check_exports  # noqa: E402
from check_exports import Row, main, table  # noqa: E402
from tests.ttc.exporters.networks import BUILDERS  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402


def test_a_network_within_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--networks", "mlp"]) == 0
    (row,) = capsys.readouterr().out.splitlines()[2:]
    assert row.startswith("| mlp | 0.00")
    assert row.endswith(" | no jax |")
    assert len(BUILDERS) == 24


def test_an_export_that_is_refused_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(*_: Any) -> None:
        raise Error("E0503", "there is no such op")

    monkeypatch.setattr(check_exports, "export", refuse)
    assert main(["--networks", "mlp"]) == 1
    assert capsys.readouterr().out.splitlines()[2] == "| mlp | E0503: there is no such op |"


def test_bounds() -> None:
    assert Row("mlp", 2e-2, 0.99, 1e-5).within
    assert Row("mlp", 2e-2, 0.99, 1e-5, 1e-5).within
    assert not Row("mlp", 0.0, 1.0, 0.0, 2e-5).within
    assert not Row("mlp", 0.0, 1.0, 0.0, float("nan")).within
    for row in (Row("mlp", 3e-2, 1.0, 0.0), Row("mlp", 0.0, 0.98, 0.0), Row("mlp", 0.0, 1.0, 2e-5), Row("mlp", float("nan"), 1.0, 0.0)):
        assert not row.within
    rows = table([Row("mlp", 0.00391, 0.999951, 2e-7), Row("mlp", 0.00391, 0.999951, 2e-7, 3e-7)]).splitlines()[2:]
    assert rows == ["| mlp | 0.0039 | 0.99995 | 2e-07 | no jax |", "| mlp | 0.0039 | 0.99995 | 2e-07 | 3e-07 |"]


def test_jax_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check_exports, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as caught:
        main(["--networks", "mlp", "--jax"])
    assert caught.value.code == 2
    assert "jax is not installed: pip install -e '.[peers]'" in capsys.readouterr().err

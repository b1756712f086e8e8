"""Long forms of error codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.cli import main
from ttc.dialects.core.errors import CODES
from ttc.reports.explanations import _texts, explanation, page

ROOT = Path(__file__).resolve().parents[3]


def test_every_code_has_one() -> None:
    assert list(_texts()) == list(CODES)
    for code in CODES:
        found = explanation(code)
        assert len(found.why) > 30
        assert found.remedy.endswith((".", "`"))


def test_the_page_is_what_the_code_says() -> None:
    assert (ROOT / "docs" / "errors.md").read_text() == page(), "make docs"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "e0412"]) == 0
    assert capsys.readouterr().out.startswith("E0412: an axis is outside the rank\n\nWhy: ")
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(CODES) + 1
    assert main(["explain", "E0413"]) == 2
    assert "E0101" in capsys.readouterr().err

"""Programs in notebooks."""

from __future__ import annotations

from pathlib import Path

import pytest

import ttc
from tests.ttc.view.conftest import Compiled
from ttc.dialects.core.errors import Error


def test_view_and_summary(compiled: Compiled, tmp_path: Path) -> None:
    program = ttc.compile(compiled.model, target="n150", dump=str(tmp_path / "dump"))
    text = program._repr_html_()
    assert "for n150" in text
    assert "x: 4x32 float32" in text
    assert "samples/s" in text
    found = program.view(dump=tmp_path / "dump")
    frame = found._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert "<script>" not in frame
    found.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == found.text
    with pytest.raises(Error, match="E0103"):
        found.save(tmp_path / "nowhere" / "page.html")

"""Tests of tools/site_build.py: what a built site may not hold.  The build itself is `make site`."""

from __future__ import annotations

from pathlib import Path

import pytest

from site_build import loaded_from_outside, outside


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://cdn.example/a.js"></script>', ["https://cdn.example/a.js"]),
        ('<link rel="stylesheet" href="//fonts.example/f.css">', ["//fonts.example/f.css"]),
        ("@import 'https://fonts.example/f.css';", ["https://fonts.example/f.css"]),
        ("body { background: url(http://example/x.png) }", ["http://example/x.png"]),
        ('<img alt="x" src="https://example/x.png">', ["https://example/x.png"]),
        ('<a href="https://example/page">a link for readers</a>', []),
        ('<link rel="canonical" href="https://example/page">', []),
        ('<script src="assets/a.js"></script><img src="x.png">', []),
    ],
)
def test_what_a_browser_would_fetch(text: str, found: list[str]) -> None:
    assert outside(text) == found


def test_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "page.html").write_text('<script src="https://cdn.example/a.js"></script>')
    (tmp_path / "style.css").write_text("body { color: red }")
    assert list(loaded_from_outside(tmp_path)) == ["sub/page.html: https://cdn.example/a.js"]

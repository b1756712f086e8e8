"""Writes the pages of docs/ that are made from the code."""

from __future__ import annotations

from pathlib import Path

import checkout  # noqa: F401  the packages of this checkout
from ttc.reports.explanations import page

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> None:
    """Write docs/errors.md."""
    DOCS.mkdir(exist_ok=True)
    (DOCS / "errors.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

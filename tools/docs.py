"""Writes the pages of docs/ that are made from the code."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import checkout  # noqa: F401  the packages of this checkout
from ttc.reports.explanations import page

DOCS = Path(__file__).resolve().parent.parent / "docs"
BEGIN, END = "<!-- from the code -->\n", "<!-- to here -->\n"
"""The lines that enclose the part of a page that is made from the code."""


def main() -> None:
    """Write docs/errors.md, and the tables of names of PopTorch where PyTorch is there."""
    DOCS.mkdir(exist_ok=True)
    (DOCS / "errors.md").write_text(page(), encoding="utf-8")
    if find_spec("torch") is not None:
        poptorch = DOCS / "coming_from_poptorch.md"
        poptorch.write_text(with_part(poptorch.read_text(encoding="utf-8"), names_of_poptorch()), encoding="utf-8")


def with_part(text: str, part: str) -> str:
    """Return the text of a page with another part from the code."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{part}{END}{rest.partition(END)[2]}"


def names_of_poptorch() -> str:
    """Return three sections of names of PopTorch: those that are there, those without effect, and those that are refused."""
    from ttc.compat import poptorch_data, poptorch_names, poptorch_optim, poptorch_options

    sections = {f"Options.{section}.{name}": why for section, table in poptorch_options.SECTIONS.items() for name, why in table.items()}
    effectless = {
        **{f"Options.{name}": why for name, why in poptorch_options.EFFECTLESS.items()},
        **sections,
        **{f"optim.{name}": why for name, why in poptorch_optim.EFFECTLESS.items()},
        **{f"DataLoader.{name}": why for name, why in poptorch_data.EFFECTLESS.items()},
    }
    refused = {
        **poptorch_names.REFUSED,
        **{f"Options.{name}": why for name, why in poptorch_options.REFUSED_OPTIONS.items()},
        **{f"PoplarExecutor.{name}": why for name, why in poptorch_names.REFUSED_OF_EXECUTORS.items()},
        **{f"optim.{name}": why for name, why in poptorch_optim.REFUSED.items()},
    }
    there = table_of("| PopTorch | in ttc |", poptorch_names.TRANSLATED)
    ignored = table_of("| name | why |", effectless)
    return "\n".join(
        (
            f"\n## Names\n\n{there}",
            "## What is taken and has no effect\n\nA warning says so once.  None of it changes a number of float32.\n\n" + ignored,
            f"## What is refused\n\n{table_of('| name | why |', refused)}",
        )
    )


def table_of(head: str, rows: Mapping[str, str]) -> str:
    """Return a table of Markdown, in which names that follow each other and have the same text share a row."""
    shared = [(text, [name for name, _ in group]) for text, group in groupby(rows.items(), key=lambda row: row[1])]
    lines = [f"| {', '.join(f'`{name}`' for name in names)} | {text} |" for text, names in shared]
    return "\n".join((head, "|---|---|", *lines, ""))


if __name__ == "__main__":
    main()

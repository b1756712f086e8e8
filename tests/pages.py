"""The pages of the documentation as tests see them: their blocks of code, and how those run."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ttc.cli import main
from ttc.dialects.core.errors import TtcWarning

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PRINTS = "Prints"
"""Title of the block that holds what the Python code before it prints."""
_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]*)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"\d+\.\d+(e-\d+)?|\d+(?= OUT)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its title if it has one, its lines, and where it begins in the page, counted from 1."""

    language: str
    title: str | None
    text: str
    line: int

    @property
    def runs(self) -> bool:
        """Whether it holds commands or code that `run_page` runs: a title says that it is something else."""
        return self.language in ("bash", "python") and self.title is None

    @property
    def is_excerpt(self) -> bool:
        """Whether it shows lines of a file of the tree, which its title names."""
        return self.title is not None and "/" in self.title


def blocks_of(page: str) -> list[Block]:
    """The fenced blocks of a page's text, in order."""
    return [Block(found[1], found[2], found[3], page[: found.start()].count("\n") + 1) for found in _BLOCK.finditer(page)]


def without_numbers(text: str) -> str:
    """The text without what differs between machines: the last digits of figures, and the width of columns behind them."""
    return re.sub(r" +", " ", _NUMBER.sub("#", text))


def steps(page: str) -> Iterator[tuple[str, int, list[str]]]:
    """(command, exit status, lines it prints) of the `console` blocks of a page."""
    for block in blocks_of(page):
        for piece in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:] if block.language == "console" else []:
            first, *lines = piece.splitlines()
            command, _, note = first.partition("#")
            status = re.search(r"status (\d+)", note)
            yield command.strip(), int(status[1]) if status else 0, lines


def run_page(page: str, folder: Path) -> int:
    """Run the blocks of a page in order, in a folder that is the current one; returns how many blocks were run.

    `bash`: every line is a command of ttc, with its exit status in a comment unless that is 0; a title says why a block is not run.
    `python`: code, in one namespace a page.  `text` titled Prints: what the code before it printed.
    `toml` and `yaml` with a title: the file of that name.  A title with a slash marks an excerpt of the tree.
    """
    printed, names, count = "", {"__name__": "page"}, 0
    for block in blocks_of(page):
        place = f"line {block.line}"
        if block.runs and block.language == "bash":
            for line in block.text.splitlines():
                run_command(line, place)
        elif block.runs:
            with contextlib.redirect_stdout(io.StringIO()) as stream, warnings.catch_warnings():
                warnings.simplefilter("error", TtcWarning)
                exec(compile(block.text, place, "exec"), names)
            printed = stream.getvalue()
        elif block.title == PRINTS:
            assert without_numbers(printed) == without_numbers(block.text), place
        elif block.language in ("toml", "yaml") and block.title is not None and not block.is_excerpt:
            (folder / block.title).write_text(block.text)
        count += block.runs
    return count


def run_command(line: str, place: str) -> None:
    """Run one command of ttc, which must end with the status that its comment names, or 0."""
    command, _, note = line.partition("#")
    program, *arguments = shlex.split(command)
    wanted = re.search(r"status (\d+)", note)
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        status = main(arguments)
    assert (program, status) == ("ttc", int(wanted[1]) if wanted else 0), f"{place}: {line}\n{told.getvalue()}"

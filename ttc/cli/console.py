"""What the commands print: results to stdout; notes, remarks, progress and errors to stderr."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any
from warnings import catch_warnings, simplefilter

from ttc.cli.progress import Progress
from ttc.dialects.core.errors import Error, TtcWarning
from ttc.dialects.core.records import record
from ttc.dialects.core.shown import shown, shown_lines

WIDE = 1 << 20
"""The letters of a line that is never broken."""
GAP = 2
"""The blanks between the columns of a table."""
NAME_WORDS = 4
"""The most words of a cell that are not put on several lines."""
NARROWEST = 16
"""The letters of a word that a table on a terminal keeps together; where the output is a file or a pipe, words stay whole, however long."""


@record(frozen=False)
class Console:
    """Writes what commands print.  verbosity: -1 quiet, 0, or more for -v."""

    verbosity: int = 0

    @property
    def verbose(self) -> bool:
        return self.verbosity > 0

    @property
    def quiet(self) -> bool:
        return self.verbosity < 0

    def say(self, line: str) -> None:
        """Write a line of the result, whatever names are in it."""
        _write(shown(line) + "\n")

    def text(self, text: str) -> None:
        """Write lines of the command's result to standard output."""
        _write(shown_lines(text) + "\n")

    def note(self, line: str) -> None:
        """Write something worth knowing to stderr; left out with -q."""
        if not self.quiet:
            sys.stderr.write(shown(line) + "\n")

    def asked(self, text: str) -> None:
        """Write what an option asked for, in any number of lines, to stderr beside the result; -q does not keep it back."""
        sys.stderr.write(shown_lines(text) + "\n")

    def error(self, text: str) -> None:
        """Write why a command failed, in any number of lines, to stderr."""
        sys.stderr.write(shown_lines(text) + "\n")

    def failure(self, error: BaseException) -> None:
        """Write an error that a command caught and reports as its result; with -v, where it was raised."""
        self.error(str(error))
        if self.verbose:
            self.error("".join(traceback.format_exception(error)).rstrip())

    def json(self, value: Any) -> None:
        """Write the result as JSON; numbers that are not finite become null."""
        _write(json.dumps(_finite(value), indent=2, allow_nan=False) + "\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], *, note: bool = False, prose: bool = False) -> None:
        """Write rows under headings; columns of numbers are flush right.

        Args:
            note: to stderr, where the result is something else.
            prose: to be read, wherever it goes: its lines fit; others, in a file or a pipe, have a line a row unless COLUMNS is set.
        """
        from rich import box
        from rich.console import Console as Rich
        from rich.table import Table
        from rich.text import Text

        stream = sys.stderr if note else sys.stdout
        terminal = stream.isatty()
        cells = [[shown(_cell(value)) for value in row] for row in rows]
        numeric = [all(isinstance(row[index], int | float) for row in rows) and bool(rows) for index in range(len(columns))]
        widths = column_widths(
            columns,
            cells,
            numeric,
            line_columns() if prose or terminal or "COLUMNS" in os.environ else WIDE,
            narrowest=NARROWEST if terminal else None,
        )
        table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False, header_style="bold")
        for column, is_number, width in zip(columns, numeric, widths, strict=True):
            table.add_column(column, justify="right" if is_number else "left", overflow="fold", width=width)
        for row in cells:
            table.add_row(*map(Text, row))
        if terminal:
            Rich(file=stream, highlight=False).print(table)
            return
        text = StringIO()
        Rich(file=text, width=sum(widths) + GAP * len(widths), highlight=False).print(table)
        lines = "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())
        sys.stderr.write(lines) if note else _write(lines)

    def paragraph(self, text: str) -> None:
        """Write a sentence of the result, in lines that fit; words stay whole."""
        self.text(textwrap.fill(shown(text), line_columns(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))

    def flush(self) -> None:
        """Write out what is buffered of the result.  Raises E0103 if the file behind stdout takes no more."""
        _write("", flush=True)

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Print warnings of ttc inside the block, each once; -q leaves them out."""

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            self.note(f"warning: {message}") if issubclass(category, TtcWarning) else before(message, category, *place, **more)

        with catch_warnings():
            simplefilter("default", TtcWarning)
            before, warnings.showwarning = warnings.showwarning, show
            yield

    def progress(self) -> Progress:
        """Return a line on a terminal that says what is going on, once it takes over a second."""
        return Progress(enabled=sys.stderr.isatty() and not self.quiet)


def line_columns() -> int:
    """Return the letters of a line: of the terminal, or as COLUMNS says; 80 where there is neither."""
    return shutil.get_terminal_size().columns


def column_widths(
    columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool], line: int, narrowest: int | None = None
) -> list[int]:
    """Return the widths of a table's columns, so that its lines fit where that is possible without breaking words.

    Columns of text give way, the widest first; numbers and headings stay whole.

    Args:
        columns, cells: headings, and rows under them.
        numeric: which columns hold numbers.
        line: letters of a line.
        narrowest: letters of a word beyond which it may be broken; None: never.
    """
    texts = [[column, *(row[index] for row in cells)] for index, column in enumerate(columns)]
    widths = [max(map(_columns_of, column)) for column in texts]
    least = [_least(column, narrowest) if not number else width for column, number, width in zip(texts, numeric, widths, strict=True)]
    room = line - GAP * (len(widths) - 1)
    while sum(widths) > room:
        index = max((i for i in range(len(widths)) if widths[i] > least[i]), key=widths.__getitem__, default=None)
        if index is None:
            break
        lower = max((w for i, w in enumerate(widths) if widths[i] > least[i] and w < widths[index]), default=least[index])
        widths[index] = max(least[index], min(widths[index] - 1, max(lower, widths[index] - (sum(widths) - room))))
    return widths


def _columns_of(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _least(texts: Sequence[str], narrowest: int | None) -> int:
    """Letters of the longest word, or of what of it stays together; a few words are a name, which is one."""
    words = [word for text in texts[1:] for word in (text.split() if len(text.split()) > NAME_WORDS or ", " in text else [text])]
    longest = max(map(_columns_of, words), default=0)
    return max(_columns_of(texts[0]), longest if narrowest is None else min(longest, narrowest))


def _write(text: str, *, flush: bool = False) -> None:
    try:
        sys.stdout.write(text)
        if flush:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Error("E0103", f"cannot write to stdout: {error.strerror}") from None


def size_text(size_bytes: float) -> str:
    """Return a number of bytes as text: `97.5 MB`; powers of 1000."""
    for unit in ("B", "kB", "MB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.2f} GB"


def time_text(seconds: float) -> str:
    """Return a time as text: `3.21 s`, `12.3 ms` or `45 us`."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(k): _finite(v) for k, v in value.items()}
        case list() | tuple():
            return [_finite(v) for v in value]
        case _:
            return value

"""What the commands print: results to stdout; notes, remarks, progress and errors to stderr."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any
from warnings import catch_warnings, simplefilter

from ttc.cli.progress import Progress
from ttc.dialects.core.errors import Error, TtcWarning
from ttc.dialects.core.records import record

WIDE = 10_000
"""Columns of a table that no terminal shows: its lines are never broken."""


@record(frozen=False)
class Console:
    """Where output goes.  verbosity: -1 quiet, 0, or more for -v."""

    verbosity: int = 0

    @property
    def verbose(self) -> bool:
        return self.verbosity > 0

    @property
    def quiet(self) -> bool:
        return self.verbosity < 0

    def say(self, text: str) -> None:
        """A line of the result."""
        _write(clean(text) + "\n")

    def note(self, text: str) -> None:
        """Something worth knowing; left out with -q."""
        if not self.quiet:
            sys.stderr.write(clean(text) + "\n")

    def asked(self, text: str) -> None:
        """What an option asked for, on stderr beside the result; -q does not keep it back."""
        sys.stderr.write(clean(text) + "\n")

    def error(self, text: str) -> None:
        """Why it failed."""
        sys.stderr.write(clean(text) + "\n")

    def json(self, value: Any) -> None:
        """The result as JSON; numbers that are not finite become null."""
        _write(json.dumps(_finite(value), indent=2, allow_nan=False) + "\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], *, note: bool = False) -> None:
        """Rows under headings; columns of numbers are flush right.  note: to stderr, where the result is something else."""
        from rich import box
        from rich.console import Console as Rich
        from rich.table import Table
        from rich.text import Text

        stream = sys.stderr if note else sys.stdout
        terminal = stream.isatty()
        table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False, header_style="bold")
        for index, column in enumerate(columns):
            numeric = all(isinstance(row[index], int | float) for row in rows) and bool(rows)
            table.add_column(column, justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*[Text(clean(_cell(x))) for x in row])
        if terminal:
            Rich(file=stream, highlight=False).print(table)
            return
        text = StringIO()
        Rich(file=text, width=WIDE, highlight=False).print(table)
        lines = "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())
        sys.stderr.write(lines) if note else _write(lines)

    def flush(self) -> None:
        """Write out what is buffered of the result.  Raises E0103 if the file behind stdout takes no more."""
        _write("", flush=True)

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Print warnings of ttc here, each once; -q leaves them out."""

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            self.note(f"warning: {message}") if issubclass(category, TtcWarning) else shown(message, category, *place, **more)

        with catch_warnings():
            simplefilter("default", TtcWarning)
            shown, warnings.showwarning = warnings.showwarning, show
            yield

    def progress(self) -> Progress:
        """A line on a terminal that says what is going on, once it takes over a second."""
        return Progress(enabled=sys.stderr.isatty() and not self.quiet)


def _write(text: str, *, flush: bool = False) -> None:
    try:
        sys.stdout.write(text)
        if flush:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Error("E0103", f"cannot write to stdout: {error.strerror}") from None


def clean(text: str) -> str:
    """Text without control characters: names come from files, and a terminal obeys escape sequences."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def size_text(size_bytes: float) -> str:
    """`97.5 MB`; powers of 1000."""
    for unit in ("B", "kB", "MB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.2f} GB"


def time_text(seconds: float) -> str:
    """`3.21 s`, `12.3 ms` or `45 us`."""
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

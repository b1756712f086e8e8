"""Logs of a training run: a line an update or validation, as CSV or as JSON lines."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.inputs.files import require_input, write_bytes

FIELDS = ("update", "epoch", "loss", "learning_rate", "validation_loss", "accuracy", "seconds")
SUFFIXES = (".csv", ".jsonl")


@record(slots=True)
class LogLine:
    """The line of a log after an update.

    Args:
        update: how many have been done.
        epoch: that it was part of, counted from 1.
        loss: of the rows of the update; not finite where it was so.
        learning_rate: of the first group of parameters.
        validation_loss: of all validation rows, where they were evaluated after this update.
        accuracy: share of the validation rows that are classified rightly, where targets are classes.
        seconds: since the run, or its resumption, began.
    """

    update: int
    epoch: int
    loss: float
    learning_rate: float
    validation_loss: float | None
    accuracy: float | None
    seconds: float


class Log:
    """The file of a log, which grows by a line an update.

    A run that goes on after a kill finds lines of updates that its checkpoint does not hold, or half a line: they are dropped.

    Args:
        path: with one of SUFFIXES.
        update: lines of later updates are dropped; 0: the file begins anew.
    """

    def __init__(self, path: Path, update: int = 0) -> None:
        self._csv = is_csv(path)
        self.lines = [line for line in read_log(path) if line.update <= update] if update and path.exists() else []
        """The lines that the file held before."""
        text = "".join([",".join(FIELDS) + "\n" if self._csv else "", *map(self._text, self.lines)])
        write_bytes(path, text.encode())
        try:
            self._file = path.open("a", encoding="ascii", buffering=1)
        except OSError as error:
            raise Error("E0103", f"cannot write {path}: {error.strerror}") from None
        self._path = path

    def write(self, line: LogLine) -> None:
        """Add a line.  Raises E0103."""
        try:
            self._file.write(self._text(line))
        except OSError as error:
            raise Error("E0103", f"cannot write {self._path}: {error.strerror}") from None

    def sync(self) -> None:
        """Have what was written reach the disk, before a checkpoint that counts on it does."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file of the log."""
        self._file.close()

    def _text(self, line: LogLine) -> str:
        values = [getattr(line, name) for name in FIELDS]
        if self._csv:
            return ",".join("" if value is None else repr(value) for value in values) + "\n"
        plain = {name: value for name, value in zip(FIELDS, values, strict=True) if value is not None}
        return json.dumps({name: value if math.isfinite(value) else repr(value) for name, value in plain.items()}) + "\n"


def is_csv(path: Path) -> bool:
    """Return whether a log of that name is CSV; JSON lines otherwise.  Raises E0101 for another suffix."""
    if path.suffix not in SUFFIXES:
        raise Error("E0101", f"a log is a .csv or .jsonl file, not {path}")
    return path.suffix == ".csv"


def read_log(path: Path) -> list[LogLine]:
    """Return the whole lines of a log, in order.  Raises E0101, E0102, and E0801 for a file that is none."""
    rows = require_input(path).read_bytes().split(b"\n")[:-1]  # the last is half a line, or none
    if is_csv(path):
        if rows and rows[0] != ",".join(FIELDS).encode():
            raise Error("E0801", "the file is no log of ttc", where=str(path))
        return [_of_csv(row, path) for row in rows[1:]]
    return [_of_json(row, path) for row in rows]


def _of_csv(row: bytes, path: Path) -> LogLine:
    values = row.decode("ascii", "replace").split(",")
    return _line(dict(zip(FIELDS, values, strict=False)), path)


def _of_json(row: bytes, path: Path) -> LogLine:
    try:
        found = json.loads(row)
    except (ValueError, RecursionError):
        found = None
    return _line({name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}, path)


def _line(texts: dict[str, str], path: Path) -> LogLine:
    try:
        validation, accuracy = (float(texts[name]) if texts.get(name) else None for name in ("validation_loss", "accuracy"))
        loss, rate, seconds = (float(texts[name]) for name in ("loss", "learning_rate", "seconds"))
        return LogLine(int(texts["update"]), int(texts["epoch"]), loss, rate, validation, accuracy, seconds)
    except (ValueError, KeyError):
        raise Error("E0801", "the file is no log of ttc", where=str(path)) from None

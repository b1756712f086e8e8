"""Profiles a part of a process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ttc.dialects.core.errors import Error
from ttc.profiler.chrome import chrome_trace
from ttc.profiler.summary import Summary, summary_of
from ttc.runtime.atomic_file import check_replaceable, replacing
from ttc.runtime.tracing import Recording


class Profiler:
    """A profile, while it is made and afterwards; use it as a context manager, or with `start` and `stop`.

    Args:
        path: where the trace is written once the context ends; None: nowhere.
        simulate: whether runs of programs for a device are simulated, and shown on lanes of its cores.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, simulate: bool = True) -> None:
        self._path = None if path is None else Path(path)
        self._simulate = simulate
        self._recording = Recording()
        if self._path is not None:
            check_replaceable(self._path)

    def start(self) -> None:
        """Begin to record, or go on with it."""
        self._recording.start()

    def stop(self) -> None:
        """Stop recording; `start` goes on with the same profile."""
        self._recording.stop()

    def trace(self) -> dict[str, Any]:
        """Return what was recorded in the JSON object form of the Trace Event Format; see `chrome_trace`."""
        return chrome_trace(self._recording, simulate=self._simulate)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace, whole or not at all.  Raises E0103."""
        write_trace(Path(path), self.trace())

    def summary(self) -> Summary:
        """Return the times by name, the longest first; its text is a table."""
        return summary_of(self.trace())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if self._path is not None:
            self.save(self._path)


def profile(path: str | os.PathLike[str] | None = None, *, simulate: bool = True) -> Profiler:
    """Return a profiler of what happens inside `with`, in all threads of the process.  Raises E0103 for a path that cannot be written.

    Args:   path, simulate: see `Profiler`.
    """
    return Profiler(path, simulate=simulate)


def write_trace(path: Path, trace: Mapping[str, Any]) -> None:
    """Write a trace, whole or not at all.  Raises E0103; E0102 for one of numbers that JSON lacks, or that nests too deeply."""
    with replacing(path) as descriptor, os.fdopen(os.dup(descriptor), "w", encoding="utf-8") as file:
        try:
            json.dump(trace, file, separators=(",", ":"), allow_nan=False)
        except (ValueError, RecursionError) as error:
            raise Error("E0102", f"the trace cannot be written as JSON: {str(error)[:200]}") from None

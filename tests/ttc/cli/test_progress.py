"""The progress line."""

from __future__ import annotations

import io
import sys
import time

import pytest

from ttc.cli import progress as module
from ttc.cli.progress import Progress

TEXT = "compiling: [x]"


def shown(monkeypatch: pytest.MonkeyPatch, delay: float, *, enabled: bool = True, seconds: float = 0.1) -> str:
    """What a progress writes to a terminal until it shows its text, or for so many seconds."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "DELAY_SECONDS", delay)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(enabled) as progress:
        progress.show(TEXT)
        end = time.monotonic() + seconds
        while TEXT not in stream.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
        progress.compiling(3, 12)
    return stream.getvalue()


def test_it_shows_itself_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, 0.02, seconds=60)
    assert TEXT in text
    assert "compiling kernels for this CPU: 3 of 12" in text


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 60.0) == ""


def test_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 0.0, enabled=False) == ""

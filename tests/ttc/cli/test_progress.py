"""The progress line."""

from __future__ import annotations

import io
import sys
import time

import pytest

from ttc.cli import progress as module
from ttc.cli.progress import Progress


def shown(monkeypatch: pytest.MonkeyPatch, delay: float, *, enabled: bool = True) -> str:
    """What a progress of a tenth of a second writes to a terminal."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "DELAY_SECONDS", delay)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(enabled) as progress:
        progress.show("compiling: [x]")
        time.sleep(0.15)
    return stream.getvalue()


def test_it_shows_itself_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "compiling: [x]" in shown(monkeypatch, 0.02)


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 5.0) == ""


def test_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 0.0, enabled=False) == ""

"""Compiled graphs run on the threads of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from ttc.runtime.engines.native.execution import pool  # noqa: E402


@pytest.mark.parametrize("threads", [1, 2])
def test_as_many_as_pytorch_uses(compiled: Callable[..., Any], threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    original = pool.Pool.__init__

    def counted(self: Any, count: int, code: Any) -> None:
        counts.append(count)
        original(self, count, code)

    monkeypatch.setattr(pool, "_POOLS", {})
    monkeypatch.setattr(pool.Pool, "__init__", counted)
    torch.set_num_threads(threads)
    model, x = torch.nn.Linear(128, 256), torch.randn(64, 128)
    with torch.no_grad():
        torch.testing.assert_close(compiled(model)(x), model(x))
    assert counts == [threads]


def test_runs_are_on_their_team(compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_POOLS", {})
    model, x = torch.nn.Linear(128, 256), torch.randn(64, 128)
    with torch.no_grad():
        torch.testing.assert_close(compiled(model, threads=2)(x), model(x))
    made = pool._POOLS[2]
    assert made._team is not None
    assert made._address == 0, "no workers of our own were started"

"""Tiles that are wanted on some CPUs are configured before their use and released behind it."""

from __future__ import annotations

from typing import Any

import pytest

from ttc.runtime.engines.native.ir import tiles as ir_tiles
from ttc.runtime.engines.native.kernels.optional_tiles import optional_tiles


def test_tiles_are_there_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Noted:
        def __init__(self, f: object) -> None:
            done.append(f"made for {f}")

        def configure(self) -> None:
            done.append("configured")

        def release(self) -> None:
            done.append("released")

    monkeypatch.setattr(ir_tiles, "Tiles", Noted)
    writer: Any = "f"
    with optional_tiles(writer, wanted=False) as tiles:
        assert tiles is None
    assert done == []
    with optional_tiles(writer, wanted=True) as tiles:
        assert isinstance(tiles, Noted)
        done.append("used")
    assert done == ["made for f", "configured", "used", "released"]

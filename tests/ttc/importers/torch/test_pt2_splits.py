"""Ops that would give too many results, counted on sizes alone."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from ttc.importers.torch.pt2_splits import MAX_RESULTS, check_splits  # noqa: E402


def program(rows: int, pieces: int) -> Any:
    """A split of so many rows into parts of so many, exported with few rows; then its input claims more."""

    class Split(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return [part.sum() for part in x.split(2)] + [x.split(pieces)[0]]

    found = torch.export.export(Split(), (torch.ones(4, 3),))
    (x,) = (node for node in found.graph.nodes if node.op == "placeholder")
    with x.meta["val"].fake_mode:
        x.meta["val"] = torch.empty(rows, 3)
    return found


def test_few_parts_pass() -> None:
    check_splits(program(4, 2))


def test_many_parts_are_refused_without_making_them() -> None:
    with pytest.raises(ttc.Error, match="would give") as caught:
        check_splits(program(1 << 39, 2))
    assert caught.value.code == "E0203"
    assert (1 << 39) // 2 > MAX_RESULTS

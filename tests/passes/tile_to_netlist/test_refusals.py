"""Why an op has no candidate: need, limit, nearest possible."""

from __future__ import annotations

import re

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import TensorType
from ttc.passes.tile_to_netlist.blocking import BlockingSubject, find
from ttc.passes.tile_to_netlist.limits import PlacementLimits
from ttc.runtime.perf.base import OpView

TARGET = load_target("n150")


def tensor(*shape: int) -> TensorType:
    return TensorType(shape, "Float32", "tiles(32, 32)")


MATMUL = OpView("matmul", {}, (tensor(128, 768), tensor(768, 3072), None), tensor(128, 3072), "HiFi4")
MAP = OpView("map", {"fn": "relu"}, (tensor(128, 3072),), tensor(128, 3072), "HiFi4")


def refused(view: OpView, **limits: object) -> Error:
    asked = PlacementLimits(text="as asked", **limits)  # pyright: ignore[reportArgumentType]
    with pytest.raises(Error) as caught:
        find(BlockingSubject(view, frozenset({1}), limits=asked), TARGET)
    assert caught.value.code == "E0504"
    return caught.value


def test_too_large_for_any_grid() -> None:
    wide = tensor(32, 64_000)
    with pytest.raises(
        Error, match=r"attention needs [\d,]+ bytes of L1 .* \(best of \d+ grids: \d x \d cores\); n150 has 1,027,968"
    ) as caught:
        find(BlockingSubject(OpView("attention", {}, (wide, wide, wide), wide, "HiFi4")), TARGET)
    assert caught.value.code == "E0502"
    assert "--format" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("view", "limits", "message", "hint"),
    [
        (MATMUL, {"grid": (12, 2)}, "no grid of 12 x 2 cores fits on the 9 x 8 cores of n150", "8 x 2"),
        (MAP, {"grid": (5, 2)}, "1 x 4 x 96 tiles would leave some of 5 x 2 cores without work", "4 x 2"),
        (MATMUL, {"start": (9, 9)}, r"no grid of the op fits .* from core \(9, 9\) on", "1 x 1"),
        (MATMUL, {"grid": (1, 9), "transposed": False}, "no grid of 1 x 9 cores fits .*, upright", "1 x 8"),
        (MATMUL, {"grid": (1, 1), "stream": "none"}, r"1 x 1 cores need [\d,]+ bytes of L1 each .* n150 has 1,027,968", "2 x 3"),
        (MATMUL, {"inner": 7}, "inner dimension of 24 tiles is not cut into 7 at a time", "6, 8"),
        (MAP, {"inner": 2}, "has no inner dimension", "u_kt"),
    ],
)
def test_rules_that_cannot_hold(view: OpView, limits: dict[str, object], message: str, hint: str) -> None:
    error = refused(view, **limits)
    assert re.search(message, error.message)
    assert hint in (error.hint or "")

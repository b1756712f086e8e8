"""Views that undo or repeat each other."""

from __future__ import annotations

import pytest

from tests.passes.tiles import apply, docstring, parse, same
from ttc.dialects.core.ir.verification import verify
from ttc.passes.base import Watcher
from ttc.passes.manager import run_pass
from ttc.passes.tile.cancel_tms import CancelTms


def test_docstring() -> None:
    docstring(CancelTms())


PAIRS = {
    "inverse transposes": (
        """(%x: Float32[2, 3, 4])
        %0 = tile.transpose(%x) {perm = [1, 2, 0]} : (Float32[2, 3, 4]) -> Float32[3, 4, 2]
        %1 = tile.transpose(%0) {perm = [2, 0, 1]} : (Float32[3, 4, 2]) -> Float32[2, 3, 4]
        return %1 : Float32[2, 3, 4]""",
        """(%x: Float32[2, 3, 4])
        return %x : Float32[2, 3, 4]""",
    ),
    "inverse transposes of other folds": (
        """(%x: Float32[2, 3, 4; 2])
        %0 = tile.transpose(%x) {perm = [1, 0, 2]} : (Float32[2, 3, 4; 2]) -> Float32[3, 2, 4]
        %1 = tile.transpose(%0) {perm = [1, 0, 2]} : (Float32[3, 2, 4]) -> Float32[2, 3, 4]
        return %1 : Float32[2, 3, 4]""",
        """(%x: Float32[2, 3, 4; 2])
        %1 = tile.relayout(%x) : (Float32[2, 3, 4; 2]) -> Float32[2, 3, 4]
        return %1 : Float32[2, 3, 4]""",
    ),
    "transposes that compose": (
        """(%x: Float32[2, 3, 4])
        %0 = tile.transpose(%x) {perm = [1, 2, 0]} : (Float32[2, 3, 4]) -> Float32[3, 4, 2]
        %1 = tile.transpose(%0) {perm = [0, 2, 1]} : (Float32[3, 4, 2]) -> Float32[3, 2, 4]
        return %1 : Float32[3, 2, 4]""",
        """(%x: Float32[2, 3, 4])
        %1 = tile.transpose(%x) {perm = [1, 0, 2]} : (Float32[2, 3, 4]) -> Float32[3, 2, 4]
        return %1 : Float32[3, 2, 4]""",
    ),
    "reshapes": (
        """(%x: Float32[2, 6])
        %0 = tile.reshape(%x) {shape = [3, 4]} : (Float32[2, 6]) -> Float32[3, 4]
        %1 = tile.reshape(%0) {shape = [12]} : (Float32[3, 4]) -> Float32[12]
        %2 = tile.reshape(%1) {shape = [2, 6]} : (Float32[12]) -> Float32[2, 6]
        return %1, %2 : Float32[12], Float32[2, 6]""",
        """(%x: Float32[2, 6])
        %1 = tile.reshape(%x) {shape = [12]} : (Float32[2, 6]) -> Float32[12]
        return %1, %x : Float32[12], Float32[2, 6]""",
    ),
    "a reshape that only folds": (
        """(%x: Float32[2, 3, 4])
        %0 = tile.reshape(%x) {shape = [2, 3, 4]} : (Float32[2, 3, 4]) -> Float32[2, 3, 4; 2]
        return %0 : Float32[2, 3, 4; 2]""",
        """(%x: Float32[2, 3, 4])
        %0 = tile.relayout(%x) : (Float32[2, 3, 4]) -> Float32[2, 3, 4; 2]
        return %0 : Float32[2, 3, 4; 2]""",
    ),
    "relayouts": (
        """(%x: Float32[2, 3, 4])
        %0 = tile.relayout(%x) : (Float32[2, 3, 4]) -> Float32[2, 3, 4; 2]
        %1 = tile.relayout(%0) : (Float32[2, 3, 4; 2]) -> Float32[2, 3, 4]
        return %1 : Float32[2, 3, 4]""",
        """(%x: Float32[2, 3, 4])
        return %x : Float32[2, 3, 4]""",
    ),
    "a relayout of a view": (
        """(%x: Float32[6, 4])
        %0 = tile.reshape(%x) {shape = [2, 3, 4]} : (Float32[6, 4]) -> Float32[2, 3, 4]
        %1 = tile.relayout(%0) : (Float32[2, 3, 4]) -> Float32[2, 3, 4; 2]
        return %1 : Float32[2, 3, 4; 2]""",
        """(%x: Float32[6, 4])
        %0 = tile.reshape(%x) {shape = [2, 3, 4]} : (Float32[6, 4]) -> Float32[2, 3, 4; 2]
        return %0 : Float32[2, 3, 4; 2]""",
    ),
    "heads joined": (
        """(%x: Float32[1, 4, 5, 2])
        %0 = tile.transpose(%x) {perm = [0, 2, 1, 3]} : (Float32[1, 4, 5, 2]) -> Float32[1, 5, 4, 2]
        %1 = tile.reshape(%0) {shape = [1, 5, 8]} : (Float32[1, 5, 4, 2]) -> Float32[1, 5, 8]
        return %1 : Float32[1, 5, 8]""",
        """(%x: Float32[1, 4, 5, 2])
        %1 = tile.hstack(%x) {n = 4} : (Float32[1, 4, 5, 2]) -> Float32[1, 5, 8]
        return %1 : Float32[1, 5, 8]""",
    ),
    "heads joined and flattened": (
        """(%x: Float32[3, 4, 5, 2])
        %0 = tile.transpose(%x) {perm = [0, 2, 1, 3]} : (Float32[3, 4, 5, 2]) -> Float32[3, 5, 4, 2]
        %1 = tile.reshape(%0) {shape = [15, 8]} : (Float32[3, 5, 4, 2]) -> Float32[15, 8]
        return %1 : Float32[15, 8]""",
        """(%x: Float32[3, 4, 5, 2])
        %0 = tile.hstack(%x) {n = 4} : (Float32[3, 4, 5, 2]) -> Float32[3, 5, 8; 2]
        %1 = tile.reshape(%0) {shape = [15, 8]} : (Float32[3, 5, 8; 2]) -> Float32[15, 8]
        return %1 : Float32[15, 8]""",
    ),
    "heads split from flat rows": (
        """(%x: Float32[15, 8])
        %0 = tile.reshape(%x) {shape = [3, 5, 4, 2]} : (Float32[15, 8]) -> Float32[3, 5, 4, 2]
        %1 = tile.transpose(%0) {perm = [0, 2, 1, 3]} : (Float32[3, 5, 4, 2]) -> Float32[3, 4, 5, 2]
        return %1 : Float32[3, 4, 5, 2]""",
        """(%x: Float32[15, 8])
        %0 = tile.reshape(%x) {shape = [3, 5, 8]} : (Float32[15, 8]) -> Float32[3, 5, 8; 2]
        %1 = tile.hslice(%0) {n = 4} : (Float32[3, 5, 8; 2]) -> Float32[3, 4, 5, 2]
        return %1 : Float32[3, 4, 5, 2]""",
    ),
    "heads split and joined": (
        """(%x: Float32[3, 5, 8])
        %0 = tile.hslice(%x) {n = 4} : (Float32[3, 5, 8]) -> Float32[3, 4, 5, 2]
        %1 = tile.hstack(%0) {n = 4} : (Float32[3, 4, 5, 2]) -> Float32[3, 5, 8]
        return %1 : Float32[3, 5, 8]""",
        """(%x: Float32[3, 5, 8])
        return %x : Float32[3, 5, 8]""",
    ),
    "transposes around maps": (
        """(%x: Float32[2, 3], %z: Float32[2, 3], %c: Float32[])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[2, 3]) -> Float32[3, 2]
        %1 = tile.transpose(%z) {perm = [1, 0]} : (Float32[2, 3]) -> Float32[3, 2]
        %2 = tile.map(%0, %1) {fn = "add"} : (Float32[3, 2], Float32[3, 2]) -> Float32[3, 2]
        %3 = tile.transpose(%2) {perm = [1, 0]} : (Float32[3, 2]) -> Float32[2, 3]
        %4 = tile.map(%c, %3) {fn = "sub"} : (Float32[], Float32[2, 3]) -> Float32[2, 3]
        return %4 : Float32[2, 3]""",
        """(%x: Float32[2, 3], %z: Float32[2, 3], %c: Float32[])
        %3 = tile.map(%x, %z) {fn = "add"} : (Float32[2, 3], Float32[2, 3]) -> Float32[2, 3]
        %4 = tile.map(%c, %3) {fn = "sub"} : (Float32[], Float32[2, 3]) -> Float32[2, 3]
        return %4 : Float32[2, 3]""",
    ),
    "reshapes around a map": (
        """(%x: Float32[2, 6], %c: Float32[1])
        %0 = tile.reshape(%x) {shape = [2, 2, 3]} : (Float32[2, 6]) -> Float32[2, 2, 3]
        %1 = tile.map(%0, %c) {fn = "mul"} : (Float32[2, 2, 3], Float32[1]) -> Float32[2, 2, 3]
        %2 = tile.reshape(%1) {shape = [2, 6]} : (Float32[2, 2, 3]) -> Float32[2, 6]
        return %2 : Float32[2, 6]""",
        """(%x: Float32[2, 6], %c: Float32[1])
        %2 = tile.map(%x, %c) {fn = "mul"} : (Float32[2, 6], Float32[1]) -> Float32[2, 6]
        return %2 : Float32[2, 6]""",
    ),
}

UNCHANGED = {
    "another transpose": """(%x: Float32[2, 3, 4])
        %0 = tile.transpose(%x) {perm = [1, 2, 0]} : (Float32[2, 3, 4]) -> Float32[3, 4, 2]
        return %0 : Float32[3, 4, 2]""",
    "a transpose that is no identity but keeps the shape": """(%x: Float32[3, 3])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[3, 3]) -> Float32[3, 3]
        return %0 : Float32[3, 3]""",
    "a map that others read": """(%x: Float32[2, 3])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[2, 3]) -> Float32[3, 2]
        %1 = tile.map(%0) {fn = "exp"} : (Float32[3, 2]) -> Float32[3, 2]
        %2 = tile.transpose(%1) {perm = [1, 0]} : (Float32[3, 2]) -> Float32[2, 3]
        return %1, %2 : Float32[3, 2], Float32[2, 3]""",
    "a map of what is not transposed": """(%x: Float32[2, 3], %z: Float32[3, 2])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[2, 3]) -> Float32[3, 2]
        %1 = tile.map(%0, %z) {fn = "add"} : (Float32[3, 2], Float32[3, 2]) -> Float32[3, 2]
        %2 = tile.transpose(%1) {perm = [1, 0]} : (Float32[3, 2]) -> Float32[2, 3]
        return %2 : Float32[2, 3]""",
    "a relayout of a view that others read": """(%x: Float32[6, 4])
        %0 = tile.reshape(%x) {shape = [2, 3, 4]} : (Float32[6, 4]) -> Float32[2, 3, 4]
        %1 = tile.relayout(%0) : (Float32[2, 3, 4]) -> Float32[2, 3, 4; 2]
        return %0, %1 : Float32[2, 3, 4], Float32[2, 3, 4; 2]""",
    "one element of higher rank": """(%x: Float32[6], %c: Float32[1, 1, 1])
        %0 = tile.reshape(%x) {shape = [1, 2, 3]} : (Float32[6]) -> Float32[1, 2, 3]
        %1 = tile.map(%0, %c) {fn = "mul"} : (Float32[1, 2, 3], Float32[1, 1, 1]) -> Float32[1, 2, 3]
        %2 = tile.reshape(%1) {shape = [6]} : (Float32[1, 2, 3]) -> Float32[6]
        return %2 : Float32[6]""",
}


@pytest.mark.parametrize("case", PAIRS)
def test_rewrites(case: str) -> None:
    same(CancelTms(), *PAIRS[case])


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_stays(case: str) -> None:
    outcome = same(CancelTms(), UNCHANGED[case], UNCHANGED[case])
    assert not outcome.report.rewrites


def test_a_view_read_twice_is_kept_for_the_other() -> None:
    outcome = apply(
        CancelTms(),
        """(%x: Float32[2, 3])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[2, 3]) -> Float32[3, 2]
        %1 = tile.transpose(%0) {perm = [1, 0]} : (Float32[3, 2]) -> Float32[2, 3]
        return %0, %1 : Float32[3, 2], Float32[2, 3]""",
    )
    assert outcome.names() == ["tile.transpose"]


class Refuse(Watcher):
    def rewrite(self, name: str, op: object) -> bool:
        return False


@pytest.mark.parametrize("case", PAIRS)
def test_an_instrument_may_refuse(case: str) -> None:
    unit = parse(PAIRS[case][0])
    count = len(list(unit.module.walk()))
    report = run_pass(CancelTms(), unit, [Refuse()])
    verify(unit.module)
    assert len(list(unit.module.walk())) == count
    assert not report.rewrites

"""Which operands are read transposed, and which are copied."""

from __future__ import annotations

import pytest

from tests.passes.tiles import apply, docstring
from ttc.passes.tile.copy_transposed import CopyTransposed


def test_docstring() -> None:
    (remark,) = docstring(CopyTransposed()).report.remarks
    assert (remark.kind, remark.message) == ("applied", "operand 0 is copied: it cannot be read transposed")


CASES = {
    "the right factor": (
        """(%x: Float32[64, 32], %a: Float32[96, 32])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[64, 32]) -> Float32[32, 64]
        %1 = tile.matmul(%a, %0, _) {transpose_a = false, transpose_b = false} : (Float32[96, 32], Float32[32, 64]) -> Float32[96, 64]
        return %1 : Float32[96, 64]""",
        0,
    ),
    "one function": (
        """(%x: Float32[64, 32])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[64, 32]) -> Float32[32, 64]
        %1 = tile.map(%0) {fn = "exp"} : (Float32[32, 64]) -> Float32[32, 64]
        return %1 : Float32[32, 64]""",
        0,
    ),
    "both operands of a sum": (
        """(%x: Float32[64, 32], %y: Float32[64, 32])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[64, 32]) -> Float32[32, 64]
        %1 = tile.transpose(%y) {perm = [1, 0]} : (Float32[64, 32]) -> Float32[32, 64]
        %2 = tile.map(%0, %1) {fn = "add"} : (Float32[32, 64], Float32[32, 64]) -> Float32[32, 64]
        return %2 : Float32[32, 64]""",
        1,
    ),
    "a value that two products read": (
        """(%x: Float32[64, 32], %w: Float32[64, 32])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[64, 32]) -> Float32[32, 64]
        %1 = tile.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (Float32[32, 64], Float32[64, 32]) -> Float32[32, 32]
        %2 = tile.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (Float32[32, 64], Float32[64, 32]) -> Float32[32, 32]
        return %1, %2 : Float32[32, 32], Float32[32, 32]""",
        1,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_copies(case: str) -> None:
    before, copies = CASES[case]
    assert apply(CopyTransposed(), before).report.rewrites["copy-transposed"] == copies

"""The pass that copies what Buda's ops cannot read transposed."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.records import record
from ttc.dialects.tile.base import TileOp, tile_of
from ttc.dialects.tile.eltwise import MapOp
from ttc.dialects.tile.host import ToHostOp
from ttc.dialects.tile.linear import MatmulOp
from ttc.dialects.tile.shape import TransposeOp, ViewOp, is_view
from ttc.dialects.tile.sparse import SparseMatmulOp
from ttc.passes.base import Pass, Rewriter, Unit


@record
class CopyTransposed(Pass):
    """Put a copy between a transpose and an op of Buda that cannot read through it.

    The right factor of a product, the operand of a function, and the first of two (not on Grayskull) are read transposed, nothing else.

    Before:
        (%x: Float32[64, 32], %w: Float32[64, 32])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[64, 32]) -> Float32[32, 64]
        %1 = tile.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (Float32[32, 64], Float32[64, 32]) -> Float32[32, 32]
        return %1 : Float32[32, 32]
    After:
        (%x: Float32[64, 32], %w: Float32[64, 32])
        %0 = tile.transpose(%x) {perm = [1, 0]} : (Float32[64, 32]) -> Float32[32, 64]
        %1 = tile.map(%0) {fn = "identity"} : (Float32[32, 64]) -> Float32[32, 64]
        %2 = tile.matmul(%1, %w, _) {transpose_a = false, transpose_b = false} : (Float32[32, 64], Float32[64, 32]) -> Float32[32, 32]
        return %2 : Float32[32, 32]
    Missed:
        never; each copy is a remark.
    """

    name: ClassVar[str] = "copy-transposed"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        first = unit.target.arch != "grayskull"
        for function in entry_functions(unit.module):
            copies: dict[SSAValue, SSAValue] = {}
            for op in list(function.body.block.ops):
                if isinstance(op, TileOp) and not is_view(op) and not isinstance(op, ToHostOp):
                    _settle(op, copies, rewriter, first_of_two=first)


def _settle(op: TileOp, copies: dict[SSAValue, SSAValue], rewriter: Rewriter, *, first_of_two: bool) -> None:
    """Copy the operands that the op reads transposed and cannot; a value is copied once for all that read it."""
    for index, value in enumerate(op.operands):
        if _reads_transposed(op, index, first_of_two=first_of_two) or not _is_transposed(value):
            continue
        if value not in copies:
            if not rewriter.allow("copy-transposed", op):
                continue
            copy = MapOp.build(value, location=op.location, format=tile_of(value).format, fn="identity")
            copies[value] = rewriter.insert(op, copy).y
            rewriter.applied(op, f"operand {index} is copied: it cannot be read transposed")
        op.operands[index] = copies[value]


def _reads_transposed(op: Operation, index: int, *, first_of_two: bool) -> bool:
    if isinstance(op, MatmulOp):
        return index == 1
    if isinstance(op, MapOp):
        return len(op.xs) == 1 or (index == 0 and first_of_two)
    return isinstance(op, SparseMatmulOp)


def _is_transposed(value: SSAValue) -> bool:
    """Return whether rows and columns of tiles are exchanged on the way to a value."""
    while isinstance(value.owner, Operation) and isinstance(value.owner, ViewOp) and is_view(value.owner):
        view = value.owner
        if isinstance(view, TransposeOp) and _exchanges(view):
            return True
        value = view.x
    return False


def _exchanges(view: TransposeOp) -> bool:
    perm = view.plain_attrs()["perm"]
    return len(perm) > 1 and tuple(perm[-2:]) == (len(perm) - 1, len(perm) - 2) and tile_of(view.x).matrix()[1:] != (1, 1)

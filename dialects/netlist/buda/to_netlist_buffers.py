"""L1 buffers of an op, as the reference's kernels take them."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.dialects.netlist.buda.form import BudaOp, FusedOp
from ttc.dialects.netlist.buda.normal import TILE
from ttc.dialects.netlist.model import Blocking, Buffer, Chip
from ttc.dialects.netlist.sizes import tile_bytes, tile_shape

DOUBLE = 2
"""Copies of what a kernel reads: one is filled while it works on the other."""


def inner_of(op: BudaOp) -> tuple[int, int] | None:
    """(m_k, u_kt) of an op with inner blocks."""
    m_k, u_kt = op.attributes.get("m_k"), op.attributes.get("u_kt")
    return (m_k, u_kt) if type(m_k) is int and type(u_kt) is int and min(m_k, u_kt) >= 1 else None


def buffers(
    op: BudaOp, inputs: Sequence[TensorType], result: TensorType, blocking: Blocking, fused: FusedOp | None, chip: Chip
) -> list[Buffer]:
    """L1 of one core, as the reference's kernels take it.

    An input has two micro blocks, or the larger minimum that the op asks for; a product's left input two columns of blocks (mblock rows
    by u_kt), its right one two rows; an input that is kept for a broadcast as many tiles as it asks for.
    """
    found = [_input(op, index, type_, blocking, chip) for index, type_ in enumerate(inputs)]
    found.append(Buffer("out", blocking.tiles_per_step, _tile_bytes(result, chip), max(op.buf_size_mb or 1, 1)))
    inner = inner_of(op)
    partial = (op.type == "matmul" and inner is not None and inner[0] > 1) or bool(op.gradient_op)
    tiles = blocking.tiles_per_step if partial else _intermediates(fused)
    if tiles:
        size = TensorType(result.shape, op.intermed_df or result.format, result.layout)
        found.append(Buffer("intermed", tiles, _tile_bytes(size, chip)))
    return found


def _input(op: BudaOp, index: int, type_: TensorType, blocking: Blocking, chip: Chip) -> Buffer:
    tiles, copies = _input_tiles(op.type or "", inner_of(op), index, blocking), DOUBLE
    kept = _kept(op, index)
    if kept:
        tiles, copies = kept, 1
    sizes = op.input_buf_min_size_tiles or ()
    least = sizes[index] if index < len(sizes) else 0
    if least > tiles * copies:
        tiles, copies = least, 1
    return Buffer(f"in{index}", tiles, _tile_bytes(type_, chip), copies)


def usual_input_tiles(type_: str, inner: tuple[int, int] | None, index: int, blocking: Blocking) -> int:
    """Return tiles that kernels buffer of an input without being asked."""
    return DOUBLE * _input_tiles(type_, inner, index, blocking)


def _input_tiles(type_: str, inner: tuple[int, int] | None, index: int, blocking: Blocking) -> int:
    if type_ == "matmul" and inner is not None and index < 2:
        return blocking.mblock[index] * blocking.ublock[index] * inner[1]
    return blocking.ublock[0] * blocking.ublock[1]


def _kept(op: BudaOp, index: int) -> int:
    """Return tiles of an input that stay in L1 to be broadcast; 0 if none do."""
    single = op.attributes.get("single_tile")
    if isinstance(single, tuple) and index in single:
        return 1
    for name in ("kernel_broadcast", "kernel_broadcast_per_t"):
        for pair in _pairs(op.attributes.get(name)):
            if pair[0] == f"input_{index}" and type(pair[1]) is int and pair[1] > 0:
                return pair[1]
    return 0


def _pairs(value: Plain) -> list[tuple[Plain, Plain]]:
    return [(x[0], x[1]) for x in value if isinstance(x, tuple) and len(x) == 2] if isinstance(value, tuple) else []


def _intermediates(fused: FusedOp | None) -> int:
    """Return tiles of a fused op's intermediates: of each the largest micro block that is written to it."""
    sizes: dict[str, int] = {}
    for schedule in fused.schedules if fused is not None else ():
        for step in schedule:
            if step.output is not None and step.output.startswith("intermed") and step.ublock is not None:
                sizes[step.output] = max(sizes.get(step.output, 0), step.ublock[0] * step.ublock[1])
    return sum(sizes.values())


def _tile_bytes(type_: TensorType, chip: Chip) -> int:
    """Return bytes of a tile of the type; of one of 32 x 32 for what lies in rows."""
    return tile_bytes(type_.format, tile_shape(type_.layout) or TILE, chip)

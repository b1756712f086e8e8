"""An op of the form whose work is being built, and what all families share of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain, TensorType
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.form import BudaOp, FusedOp
from ttc.dialects.netlist.buda.work.shared import FRAME, WorkBuilder, blocks, layout_of, number, word
from ttc.dialects.netlist.buda.work.tms import apply_tms, padded, unpadded
from ttc.dialects.netlist.sizes import tile_shape

ADJUSTED = ("Bfp2", "Bfp2_b", "Bfp4", "Bfp4_b")
"""Formats whose rounding the reference applies to operands and results."""
INTEGERS = ("Int8", "Int32", "UInt8", "UInt16")


@record(frozen=False)
class Building:
    """An op whose work is being built.

    Args:
        op: of the form.
        inputs: types of its inputs.
        fused: the fused op that it runs, if any.
        arch: name of the architecture.
        builder: of the function.
        tile: height and width of the tiles that it computes with: the frame, unless the op is elementwise on small tiles of one size.
    """

    op: BudaOp
    inputs: tuple[TensorType, ...]
    fused: FusedOp | None
    arch: str
    builder: WorkBuilder
    tile: tuple[int, int] = FRAME

    def emit(self, work: str, operands: tuple[int | None, ...], shape: tuple[int, ...], /, **attrs: Plain) -> int:
        """Append a tile op, by mnemonic, whose result has that shape; returns it."""
        return self.builder.emit(f"tile.{work}", operands, shape, self.tile, **attrs)

    def shape(self, value: int) -> tuple[int, ...]:
        """Return the shape of a value of the work."""
        return self.builder.shape(value)

    def require_inputs(self, *counts: int) -> None:
        """Raises E0401 unless the op has that many inputs."""
        if len(self.inputs) not in counts:
            raise Error("E0401", f"'{self.op.type}' takes {' or '.join(map(str, counts))} inputs, not {len(self.inputs)}")

    def input(self, index: int, *, bias: bool = False) -> int:
        """Return an input as the op reads it: unpadded, manipulated, padded, rounded.  bias: broadcasts reach into tiles."""
        type_, value = self.inputs[index], index
        tile = input_tile(type_, self.op)
        if index in self.op.unpads:
            value = unpadded(self.builder, value, self.op.unpads[index], tile)
        if tile != self.tile:
            rows, columns = (size // side * frame for size, side, frame in zip(self.shape(value)[1:], tile, self.tile, strict=True))
            value = self.emit("retile", (value,), (self.shape(value)[0], rows, columns), source=tile, kept=tile, target=self.tile)
        value = apply_tms(self.builder, value, self.op.input_tms.get(index, ()), self.tile, full=bias)
        if index in self.op.pads:
            value = padded(self.builder, value, self.op.pads[index], self.tile)
        return self._adjusted(value, type_.format)

    def _adjusted(self, value: int, format_: str) -> int:
        if format_ in ADJUSTED:
            return self.emit("adjust", (value,), self.shape(value), to=format_, rounding="rne")
        if format_ in INTEGERS:
            return self.emit("adjust", (value,), self.shape(value), to="Float32", rounding="rne")
        if format_ == "Float32" and self.arch.startswith("wormhole"):
            return self.emit("adjust", (value,), self.shape(value), to="Tf32", rounding="truncate")
        return value


Build: TypeAlias = Callable[[Building], int]


def result_type(op: BudaOp) -> TensorType:
    """Return the type [t, rows, columns] of an op's result: in rows where it is untilized.  Raises E0602 where the op does not say."""
    t, rows, columns = blocks(op)
    height, width = op.tile_dim or FRAME
    layout = "rows" if op.untilize_output else layout_of((height, width))
    return TensorType((t, rows * height, columns * width), op.out_df or "Float32", layout)


def input_tile(type_: TensorType, op: BudaOp) -> tuple[int, int]:
    """Height and width of an input's tiles; in rows, those of the op."""
    return tile_shape(type_.layout) or op.tile_dim or FRAME


def relu(building: Building, value: int, attributes: Mapping[str, Plain]) -> int:
    """Return the attributes relu_mode and relu_threshold of an op or sub-op."""
    mode = word(attributes, "relu_mode", ("min", "max", "none"), "none")
    threshold = float(number(attributes, "relu_threshold", 0.0))
    return building.emit("relu", (value,), building.shape(value), mode="max" if mode == "max" else "min", threshold=threshold)

"""What both directions share: the result of reading, the numbers of a form, and functions under construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.form import BudaOp, FusedOp, Pair, Tm

RAW = ("RawUInt8", "RawUInt16", "RawUInt32")
"""Formats of words that stand for something else than numbers."""
FRAME = (32, 32)
"""Height and width of a whole tile."""
DIMS = {"r": -2, "c": -1, "z": -3}
"""Axes by their names in the format."""
MAX_ELEMENTS = 1 << 36
"""Bound on the elements of a tensor."""


@record(slots=True, eq=False)
class ImpliedConstant:
    """An input that the work holds, or implies, and a Buda op must read from a queue.

    Args:    type: of the tensor.  values: its elements, of its shape; or one of a scalar type, which stands in all of a tile.
    """

    type: TensorType
    values: NDArray


@record(slots=True)
class Diagonal:
    """An input of which the Buda op reads another form: every row [z, c] as diagonals of tiles [z * 32, c] (`diagonal_tiles`).

    Args:    source: number of the op's input.
    """

    source: int


Source: TypeAlias = int | ImpliedConstant | Diagonal
"""Where an input of a Buda op comes from: the number of an input of the op in the netlist, or what follows from its work."""


@record(slots=True)
class OpForm:
    """What the work of an op says in words of the format.

    Args:
        type: of the op.
        inputs: for each input of the Buda op where it comes from; the same number may come twice.
        tms, pads, unpads: by place in `inputs`, as in `BudaOp`.
        attributes: those that the work says; defaults are left out.
        fused: the fused op of a `fused_op`, named as the attribute fused_op_id has it.
    """

    type: str
    inputs: tuple[Source, ...]
    tms: Mapping[int, tuple[Tm, ...]] = field(default_factory=dict)
    pads: Mapping[int, tuple[int, int, float]] = field(default_factory=dict)
    unpads: Mapping[int, Pair] = field(default_factory=dict)
    attributes: Mapping[str, Plain] = field(default_factory=dict)
    fused: FusedOp | None = None


def layout_of(tile: tuple[int, int]) -> str:
    """Return text of a layout of such tiles."""
    return f"tiles({tile[0]}, {tile[1]})"


class WorkBuilder:
    """A plain function under construction: works are appended, values are numbers."""

    def __init__(self, inputs: tuple[TensorType, ...]) -> None:
        self.inputs = inputs
        self.types = list(inputs)
        self.works: list[Work] = []

    def emit(self, op: str, operands: tuple[int | None, ...], shape: tuple[int, ...], tile: tuple[int, int], /, **attrs: Plain) -> int:
        """Append an op with one result, in Float32 unless it is of raw words; returns its number."""
        first = operands[0] if operands else None
        words = first is not None and self.types[first].format in RAW
        type_ = TensorType(shape, self.types[first].format if words and first is not None else "Float32", layout_of(tile))
        if type_.elements > MAX_ELEMENTS:
            raise Error("E0602", f"{op} gives {type_.elements:,} elements, more than {MAX_ELEMENTS:,}")
        self.works.append(Work(op, operands, attrs, (type_,)))
        self.types.append(type_)
        return len(self.types) - 1

    def shape(self, value: int) -> tuple[int, ...]:
        """Return the shape of a value of the work."""
        return self.types[value].shape

    def finish(self, value: int, type_: TensorType, location: tuple[str, ...]) -> Function:
        """Return the function whose output is `value`, which the last work gives, with its type."""
        *works, last = self.works
        works = [Work(w.op, w.operands, w.attrs, w.results, w.body, location) for w in works]
        final = Work(last.op, last.operands, last.attrs, (type_,), last.body, location)
        return Function(self.inputs, (*works, final), (value,))


def number(attributes: Mapping[str, Plain], name: str, default: float | None = None) -> float:
    """Return a number among attributes.  Raises E0402."""
    value = attributes.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Error("E0402", f"attribute {name} is {_text(value)}, not a number")
    return value


def integer(attributes: Mapping[str, Plain], name: str, default: int | None = None) -> int:
    """Return an integer among attributes.  Raises E0402."""
    value = number(attributes, name, default)
    if not isinstance(value, int):
        raise Error("E0402", f"attribute {name} is {value}, not an integer")
    return value


def flag(attributes: Mapping[str, Plain], name: str) -> bool:
    """Return a truth value among attributes, false where absent.  Raises E0402."""
    value = attributes.get(name, False)
    if not isinstance(value, bool):
        raise Error("E0402", f"attribute {name} is {_text(value)}, not true or false")
    return value


def word(attributes: Mapping[str, Plain], name: str, words: tuple[str, ...], default: str | None = None) -> str:
    """Return one of some words among attributes, in small letters.  Raises E0402."""
    value = attributes.get(name, default)
    if not isinstance(value, str) or value.lower() not in words:
        raise Error("E0402", f"attribute {name} is {_text(value)}", hint=f"one of {', '.join(words)}")
    return value.lower()


def _text(value: Plain) -> str:
    return "absent" if value is None else repr(value)[:60]


def blocks(op: BudaOp) -> tuple[int, int, int]:
    """(t, rows, columns) in tiles of an op's result.  Raises E0602 where the op does not say."""
    if op.t is None or op.mblock is None or op.ublock is None or op.grid_size is None:
        raise Error("E0602", "an op needs grid_size, t, mblock and ublock", where=op.name)
    if min(op.t, *op.mblock, *op.ublock, *op.grid_size, *(op.tile_dim or FRAME)) < 1:
        raise Error("E0602", "grid_size, t, mblock, ublock and tile_dim are positive", where=op.name)
    rows, columns = (g * m * u for g, m, u in zip(op.grid_size, op.mblock, op.ublock, strict=True))
    return op.t, rows, columns

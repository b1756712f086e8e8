"""From sums of products to elements of the result: a row of sums through an elementwise region."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES, Storage
from ttc.runtime.engines.native.graph.tensors import ALIGNMENT

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer
    from ttc.runtime.engines.native.kernels.code_tables import CodeTable


_SHORT, _SHORT_STEPS = ("add", "relu", "clip"), 4
"""Functions of one or two instructions, and how many of them."""


@dataclass(frozen=True)
class Finish:
    """What is done with sums before they are stored: a region, applied to each.

    Args:
        region: input 0 is the sum, a number of 32 bits; the others are elements of further tensors, as wide as the result.
        spread: for each further input, whether a row of it is but one element, for all columns.
        columns: of a panel, and so of a row of sums.
        lanes: float32 of a vector.
        table: what follows the region, which then ends with a code of 8 bits.
    """

    region: Region
    spread: tuple[bool, ...]
    columns: int
    lanes: int
    table: CodeTable | None = None

    @property
    def storage(self) -> Storage:
        """The storage of the result."""
        return self.region.storage if self.table is None else self.table.region.storage

    @property
    def others(self) -> tuple[str, ...]:
        """The names of the region's further tensors."""
        return tuple(f"other{i}" for i in range(len(self.spread)))


@dataclass(frozen=True)
class Row:
    """A row of sums: addresses of column 0 of `c` and of further tensors, and whether it is one of the result; None: it is."""

    places: Mapping[str, Value]
    is_result: Value | None = None


def emit_row(f: Writer, finish: Finish, sums: Value, rows: Mapping[str, Value], span: tuple[Value, Value]) -> None:
    """Emit one row of a panel.  rows: addresses of column 0 of `c` and of further tensors; span: the panel's first column, all columns."""
    start, end = span
    dtype = finish.region.inputs[0]
    width = f.smaller(end - start, finish.columns)
    with f.loop(0, width, finish.lanes) as v:
        left = width - v
        with f.choice(left >= finish.lanes) as (whole, part):
            with whole:
                emit_vector(f, finish, f.load(f.at(sums, v, dtype), dtype, finish.lanes), rows, start + v, finish.lanes)
            with part:
                if masks_are_cheap(f):
                    total = f.load(f.at(sums, v, dtype), dtype, finish.lanes)
                    emit_vector(f, finish, total, rows, start + v, finish.lanes, f.mask(left, finish.lanes))
                else:
                    with f.loop(v, width) as i:
                        emit_vector(f, finish, f.load(f.at(sums, i, dtype), dtype), rows, start + i, 1)


def emit_rows(f: Writer, finish: Finish, sums: Value, rows: Callable[[Value], Row], count: Value, span: tuple[Value, Value]) -> None:
    """Emit so many rows of a panel, whose sums lie one after the other.  rows: tells of each where it goes; span: as in `emit_row`."""
    start, end = span
    dtype = finish.region.inputs[0]

    def each(emit: Callable[[Value, Mapping[str, Value]], None]) -> None:
        with f.loop(0, count) as r:
            row = rows(r)
            with nullcontext() if row.is_result is None else f.when(row.is_result):
                emit(f.at(sums, r * finish.columns, dtype), row.places)

    def emit_vectors(row: Value, places: Mapping[str, Value], v: Value, mask: Value | None = None) -> None:
        total = f.load(f.at(row, v, dtype), dtype, finish.lanes)
        emit_vector(f, finish, total, places, start + v, finish.lanes, mask)

    def emit_whole(row: Value, places: Mapping[str, Value]) -> None:
        with f.loop(0, finish.columns, finish.lanes) as v:
            emit_vectors(row, places, v)

    if not masks_are_cheap(f):
        each(lambda row, places: emit_row(f, finish, row, places, span))
        return
    with f.choice(end - start >= finish.columns) as (whole, part):
        with whole:
            each(emit_whole)
        with part, f.loop(0, end - start, finish.lanes) as v:
            mask = f.mask(end - start - v, finish.lanes)
            each(lambda row, places: emit_vectors(row, places, v, mask))


def masks_are_cheap(f: Writer) -> bool:
    """Return whether a part of a vector is written as fast as the whole; on other CPUs masks also cost registers that products need."""
    return f.cpu.vector_bytes == 64


def emit_fetch(f: Writer, finish: Finish, rows: Mapping[str, Value], start: Value, level: int) -> None:
    """Bring near what `emit_row` will read and write of one row.  level: 3 for the first-level cache, 2 for the second."""
    spread = (False, *finish.spread)
    storages = (finish.storage, *finish.region.inputs[1:])
    for name, storage, one in zip(("c", *finish.others), storages, spread, strict=True):
        item = STORAGE_BYTES[storage]
        for line in range(0, 0 if one else finish.columns * item, ALIGNMENT):
            f.prefetch(f.at(rows[name], start * item + line, "i8"), level)


def is_short(region: Region, *, narrows: bool = False) -> bool:
    """Return whether the code of a region is short enough to be written once for each vector of a block of sums.

    narrows: whether it may end by rounding to bfloat16, for which there must be registers, too.
    """
    steps = region.steps[:-1] if narrows and region.steps and (region.steps[-1].fn, region.storage) == ("cast", "bf16") else region.steps
    return len(steps) <= _SHORT_STEPS and all(step.fn in _SHORT and step.storage == "f32" for step in steps)


def emit_vector(
    f: Writer, finish: Finish, total: Value, rows: Mapping[str, Value], column: Value, lanes: int, mask: Value | None = None
) -> None:
    """Emit the result of sums of one row, from `column` on."""
    from ttc.runtime.engines.native.ir.regions import emit_region

    values = [total]
    for name, storage, spread in zip(finish.others, finish.region.inputs[1:], finish.spread, strict=True):
        if spread:
            values.append(f.spread(f.read(rows[name], storage), lanes))
        else:
            values.append(f.read(f.at(rows[name], column, storage), storage, lanes, mask))
    found = emit_region(f, finish.region, values)
    if finish.table is not None:
        found = finish.table.of(f, found)
    f.write(found, f.at(rows["c"], column, finish.storage), finish.storage, mask)

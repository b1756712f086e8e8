"""A program whose tensors chips divide by columns, by rows, or by both."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.plain.functions import Function
from ttc.dialects.core.records import record
from ttc.passes.nn.sharding.cut import with_products_cut
from ttc.passes.nn.sharding.divide import ALL_REDUCE, COLUMNS, REDUCE_SCATTER, divided, rows_divided

EXCHANGED = 4
"""The most chips that each send all of their sums to all others; more of them add up a part each, and send that."""


@record
class DividedProgram:
    """What each chip computes of a program.

    Args:
        source: the program of one chip, whose constants are divided.
        part: what a chip computes of it, with works between chips.
        by_columns, by_rows: products that divide their columns, and those behind them, whose sums over chips are added.
        row_starts: ops that divide the rows that every chip has.
        kept: names of products that are computed by each chip that has their rows.
    """

    source: Function
    part: Function
    by_columns: int = 0
    by_rows: int = 0
    row_starts: int = 0
    kept: tuple[str, ...] = ()


def divided_program(body: Function, updates: Sequence[str | None], columns: int, rows: int) -> DividedProgram | None:
    """Return what each of `columns` times `rows` chips computes; None if columns or rows cannot be divided among as many.

    updates: the name of the state or parameter whose new value each output is, if any.
    """
    found = DividedProgram(body, body)
    if columns > 1:
        source = with_products_cut(body)
        first = divided(source, updates, columns, None if columns <= EXCHANGED else COLUMNS, joins=True)
        if not first.started:
            return None
        part = Function(source.inputs, tuple(first.part), first.outputs)
        found = DividedProgram(source, part, first.started, first.count(ALL_REDUCE, REDUCE_SCATTER), kept=tuple(first.kept))
    if rows > 1:
        second = rows_divided(found.part, rows)
        if not second.started:
            return None
        part = Function(found.source.inputs, tuple(second.part), second.outputs)
        found = DividedProgram(found.source, part, found.by_columns, found.by_rows, second.started, found.kept)
    return found

"""Matrices of one number, such as masks and the factors of sums, as an op of Buda can read them.

A number fills a tile, and tile manipulations repeat it; a matrix that ends within a tile and has to be zero beyond is written out instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.sizes import tile_shape


def written_out(function: Function) -> Function:
    """Return the function with repeated numbers as literals of all their elements, where these have to end where their shape does."""
    makers: dict[int, Work] = {}
    value = len(function.inputs)
    for work in function.works:
        makers[value] = work
        value += len(work.results)
    types = function.value_types
    ending = {
        v for v, work in makers.items() if _number(work, makers) is not None and work.op == "tile.broadcast" and _ends(v, function, types)
    }
    if not ending:
        return function
    works = tuple(_written(work, makers) if v in ending else work for v, work in makers.items())
    return Function(function.inputs, works, function.outputs)


def matrix_of(type_: TensorType) -> tuple[int, int, int]:
    """Return (t, rows, columns) of a tensor in elements, folded dimensions along the rows."""
    found = type_.layout.removeprefix("tiles(").rstrip(")").split(", ")
    fold = int(found[2]) if len(found) == 3 else 1
    lead = (1, 1, *type_.shape)
    split = max(len(lead) - 1 - max(fold, 1), 0)
    return prod(lead[:split]), prod(lead[split:-1]), lead[-1]


def _number(work: Work, makers: Mapping[int, Work]) -> float | None:
    """Return the number that a work is, or repeats."""
    source = work.operands[0] if work.op == "tile.broadcast" else None
    if source is not None and source in makers:
        work = makers[source]
    values = work.attrs.get("values")
    if work.op != "ttc.constant" or not isinstance(values, tuple) or len(values) != 1 or not isinstance(values[0], int | float):
        return None
    return values[0]


def _written(work: Work, makers: Mapping[int, Work]) -> Work:
    number, (type_,) = _number(work, makers), work.results
    return replace(work, op="ttc.constant", operands=(), attrs={"values": (number,) * type_.elements}, location=work.location)


def _ends(value: int, function: Function, types: list[TensorType]) -> bool:
    """Return whether a matrix of one number ends within a tile along a dimension in which its readers need zeros beyond."""
    height, width = tile_shape(types[value].layout) or (1, 1)
    _, rows, columns = matrix_of(types[value])
    return any(
        (needs_rows and rows % height != 0) or (needs_columns and columns % width != 0)
        for needs_rows, needs_columns in _needs(value, function, types)
    )


def _needs(value: int, function: Function, types: list[TensorType]) -> Iterator[tuple[bool, bool]]:
    """For each reader whether it needs zeros beyond the rows, and the columns: where it sums, and where its result goes no further."""
    _, rows, columns = matrix_of(types[value])
    for work in function.works:
        for place, operand in enumerate(work.operands):
            if operand != value:
                continue
            if work.op == "tile.matmul":
                along_columns = (place == 0) != bool(work.attrs.get("transpose_b") if place else work.attrs.get("transpose_a"))
                yield not along_columns, along_columns
            else:
                _, high, wide = matrix_of(work.results[0])
                yield rows == high, columns == wide

"""Products whose columns are cut apart at once, as queries, keys and values of one weight, become a product for each piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import cast

from ttc.dialects.core.plain.functions import LEAVES, Function, TensorType, Work, numbered


def with_products_cut(function: Function) -> Function:
    """Return the function with products by constants of which everything that reads them takes columns made one product a piece.

    Chips then divide the heads of each piece; what one chip has of all of them is one product again when it is written.
    """
    makers: dict[int | None, Work] = {number: work for work, number in numbered(function)}
    readers: dict[int, list[Work]] = {}
    for work in function.works:
        for number in work.operands:
            readers.setdefault(cast("int", number), []).append(work)
    cut: dict[int, Work] = {}
    for work, number in numbered(function):
        if _is_cut(work, [makers.get(operand) for operand in work.operands[1:]], readers.get(number, ()), number in function.outputs):
            cut |= {id(reader): work for reader in readers[number]}
    return _rewritten(function, makers, cut) if cut else function


def _is_cut(work: Work, leaves: list[Work | None], readers: Sequence[Work], is_output: bool) -> bool:
    """Return whether a product can be cut: constants that are weights, no activation, and all that reads it takes columns."""
    if work.op != "nn.matmul" or is_output or work.attrs["transpose_a"] or work.attrs.get("activation"):
        return False
    if not readers or not all(_columns(reader, work.results[0].shape) for reader in readers):
        return False
    present = [leaf for leaf, number in zip(leaves, work.operands[1:], strict=True) if number is not None]
    if not all(leaf is not None and leaf.op in LEAVES and leaf.op != "ttc.state" and "key" in leaf.attrs for leaf in present):
        return False
    return all(leaf is not None and leaf.results[0].shape[-1] == work.results[0].shape[-1] for leaf in present[1:])


def _columns(reader: Work, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the first column and the columns of each piece that an op takes of a product; empty if it takes others."""
    if reader.op == "nn.split" and cast("int", reader.attrs["axis"]) in (-1, len(shape) - 1):
        sizes = [kind.shape[-1] for kind in reader.results]
        return list(zip(accumulate(sizes[:-1], initial=0), sizes, strict=True))
    if reader.op == "nn.slice":
        starts, sizes, steps = (cast("tuple[int, ...]", reader.attrs[name]) for name in ("starts", "sizes", "steps"))
        if sizes[:-1] == shape[:-1] and not any(starts[:-1]) and all(step == 1 for step in steps) and sizes[-1] < shape[-1]:
            return [(starts[-1], sizes[-1])]
    return []


def _rewritten(function: Function, makers: dict[int | None, Work], cut: dict[int, Work]) -> Function:
    """Return the function with its works numbered anew; products that are cut stand where their pieces were taken."""
    works: list[Work] = []
    place = {number: number for number in range(len(function.inputs))}
    count = len(function.inputs)
    gone = set(map(id, cut.values()))
    for work, number in numbered(function):
        if id(work) in gone:
            continue
        if id(work) in cut:
            made = _pieces(cut[id(work)], work, makers, count, place)
            found = [count + index for index, each in enumerate(made) if each.op == "nn.matmul"]
        else:
            made = [replace(work, operands=tuple(None if n is None else place[n] for n in work.operands))]
            found = [count + index for index in range(len(work.results))]
        place |= {number + index: new for index, new in enumerate(found)}
        works += made
        count += sum(len(each.results) for each in made)
    return Function(function.inputs, tuple(works), tuple(place[number] for number in function.outputs))


def _pieces(product: Work, reader: Work, makers: dict[int | None, Work], count: int, place: dict[int, int]) -> list[Work]:
    """Return the products that give what an op takes, each behind its leaves.  count: the number of the first value that they make."""
    made: list[Work] = []
    for kind, columns in zip(reader.results, _columns(reader, product.results[0].shape), strict=True):
        operands: list[int | None] = [place[cast("int", product.operands[0])]]
        for index, number in enumerate(product.operands[1:]):
            if number is None:
                operands.append(None)
                continue
            leaf = makers[number]
            shape = leaf.results[0].shape
            at = len(shape) - (2 if index == 0 and product.attrs["transpose_b"] else 1)
            type_ = TensorType((*shape[:at], columns[1], *shape[at + 1 :]), leaf.results[0].format)
            made.append(Work("ttc.constant", (), {**leaf.attrs, "columns": (at, *columns)}, (type_,), location=leaf.location))
            operands.append(count + len(made) - 1)
        made.append(Work(product.op, tuple(operands), product.attrs, (kind,), location=product.location))
    return made

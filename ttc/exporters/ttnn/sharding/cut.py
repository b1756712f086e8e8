"""Products whose columns are cut apart at once, as queries, keys and values of one weight, become a product for each piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.exporters.graph import LEAVES, ModelGraph
from ttc.exporters.ttnn.caches import numbered


def with_products_cut(graph: ModelGraph) -> ModelGraph:
    """Return the program with products by constants that only a split along the columns reads made one product a piece.

    Chips then divide the heads of each piece; what one chip has of all of them is one product again when it is written.
    """
    function = graph.function
    makers: dict[int | None, Work] = {number: work for work, number in numbered(function)}
    readers: dict[int, list[Work]] = {}
    for work in function.works:
        for number in work.operands:
            readers.setdefault(cast("int", number), []).append(work)
    cut = {
        id(work): readers[number][0]
        for work, number in numbered(function)
        if _is_cut(work, [makers.get(operand) for operand in work.operands[1:]], readers.get(number, ()), number in function.outputs)
    }
    return replace(graph, function=_rewritten(function, makers, cut)) if cut else graph


def _is_cut(work: Work, leaves: list[Work | None], readers: Sequence[Work], is_output: bool) -> bool:
    """Return whether a product can be cut: constants that are weights, no activation, one reader that splits the columns."""
    if work.op != "nn.matmul" or is_output or work.attrs["transpose_a"] or work.attrs.get("activation"):
        return False
    if (
        len(readers) != 1
        or readers[0].op != "nn.split"
        or cast("int", readers[0].attrs["axis"]) not in (-1, len(work.results[0].shape) - 1)
    ):
        return False
    present = [leaf for leaf, number in zip(leaves, work.operands[1:], strict=True) if number is not None]
    return all(leaf is not None and leaf.op in LEAVES and leaf.op != "ttc.state" and "key" in leaf.attrs for leaf in present) and all(
        leaf.results[0].shape[-1] == work.results[0].shape[-1] for leaf in present[1:] if leaf is not None
    )


def _rewritten(function: Function, makers: dict[int | None, Work], cut: dict[int, Work]) -> Function:
    """Return the function with its works numbered anew; the products that are cut stand where their split did."""
    works: list[Work] = []
    place = {number: number for number in range(len(function.inputs))}
    count = len(function.inputs)
    waiting = {id(split): product for product in function.works if (split := cut.get(id(product))) is not None}
    for work, number in numbered(function):
        if id(work) in cut:
            continue
        made = [work]
        if id(work) in waiting:
            made = _pieces(waiting[id(work)], work, makers, count, place)
            starts = [count + index for index, each in enumerate(made) if each.op == "nn.matmul"]
            place |= {number + index: start for index, start in enumerate(starts)}
        else:
            made = [replace(work, operands=tuple(None if n is None else place[n] for n in work.operands))]
            place |= {number + index: count + index for index in range(len(work.results))}
        works += made
        count += sum(len(each.results) for each in made)
    return Function(function.inputs, tuple(works), tuple(place[number] for number in function.outputs))


def _pieces(product: Work, split: Work, makers: dict[int | None, Work], count: int, place: dict[int, int]) -> list[Work]:
    """Return the products that give the pieces of a split, each behind its leaves.  count: the number of the first value that they make."""
    made: list[Work] = []
    first = 0
    for kind in split.results:
        size, operands = kind.shape[-1], [place[cast("int", product.operands[0])]]
        for index, number in enumerate(product.operands[1:]):
            if number is None:
                continue
            leaf = makers[number]
            shape = leaf.results[0].shape
            at = len(shape) - (2 if index == 0 and product.attrs["transpose_b"] else 1)
            type_ = TensorType((*shape[:at], size, *shape[at + 1 :]), leaf.results[0].format)
            made.append(Work("ttc.constant", (), {**leaf.attrs, "columns": (at, first, size)}, (type_,), location=leaf.location))
            operands.append(count + len(made) - 1)
        given = (*operands, *(None for _ in range(len(product.operands) - len(operands))))
        made.append(Work(product.op, given, product.attrs, (kind,), location=product.location))
        first += size
    return made

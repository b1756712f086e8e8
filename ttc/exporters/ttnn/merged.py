"""Products of one input with several weights, such as queries, keys and values of attention, as one product whose columns are cut."""

from __future__ import annotations

from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.plain.functions import LEAVES, Function, Work, numbered
from ttc.dialects.core.records import record
from ttc.exporters.graph import ModelGraph
from ttc.exporters.ttnn.precision import Precision
from ttc.exporters.ttnn.values import TILE

LEAST = 3
"""The least number of products worth merging: two read their input twice, and cutting the result apart takes as long."""


@record(frozen=False, eq=False)
class MergedProduct:
    """A product whose columns are those of several products of the program.

    Args:
        works: the products, in the order of their columns.
        weights: the leaf of each one's matrix.
        biases: the leaf of each one's bias; None where it has none.
        name: of the result in the text, once it is written.
        parts: the dimension of the matrices along which chips divide their columns.
    """

    works: list[Work]
    weights: list[Work]
    biases: list[Work | None]
    name: str | None = None
    parts: int | None = None

    @property
    def columns(self) -> int:
        """The columns of all products together."""
        return sum(work.results[0].shape[-1] for work in self.works)

    def first_column(self, work: Work) -> int:
        """Return the column of the merged result at which a product's own begin."""
        return sum(other.results[0].shape[-1] for other in self.works[: self._place(work)])

    def is_last(self, work: Work) -> bool:
        """Return whether no product of these comes after one."""
        return self.works[-1] is work

    def _place(self, work: Work) -> int:
        return next(index for index, other in enumerate(self.works) if other is work)

    def matrix(self, graph: ModelGraph) -> NDArray:
        """Return the matrices [k, n] side by side."""
        arrays = [array.reshape(array.shape[-2:]) for array in map(graph.leaf, self.weights)]
        turned = [array.T if work.attrs["transpose_b"] else array for work, array in zip(self.works, arrays, strict=True)]
        return self._side_by_side(turned, graph.chips)

    def _side_by_side(self, arrays: list[NDArray], chips: int) -> NDArray:
        """Join arrays along their columns; where chips divide these, all that one of them has comes together."""
        if self.parts is None:
            return np.concatenate(arrays, axis=1)
        parts = zip(*(np.split(array, chips, axis=1) for array in arrays), strict=True)
        return np.concatenate([part for of_chip in parts for part in of_chip], axis=1)

    def row(self, graph: ModelGraph) -> NDArray | None:
        """Return the biases [1, n] side by side, zeros where a product has none; None if none has one."""
        if not any(leaf is not None for leaf in self.biases):
            return None
        rows = []
        for work, leaf in zip(self.works, self.biases, strict=True):
            values = np.zeros(1, np.float32) if leaf is None else graph.leaf(leaf).reshape(-1)
            columns = work.results[0].shape[-1] * (1 if self.parts is None else graph.chips)
            rows.append(np.broadcast_to(values[None], (1, columns)))
        return self._side_by_side(rows, graph.chips)


def merged_products(function: Function, precision: Precision) -> dict[int, MergedProduct]:
    """Find products that become one; returns it by the identity of each of their works."""
    makers: dict[int | None, Work] = {number: work for work, number in numbered(function) if work.op in LEAVES}
    groups: dict[tuple[object, ...], MergedProduct] = {}
    for work in function.works:
        weight, bias = (makers.get(number) for number in (work.operands[1:3] if _is_product(work) else (None, None)))
        if weight is None or not _is_mergeable(work, weight, bias):
            continue
        parts = cast("int | None", weight.attrs.get("parts"))
        asked = precision.weights_of(work), precision.config_of(work)
        key = (work.operands[0], work.attrs["transpose_b"], weight.results[0].format, parts, *asked)
        group = groups.setdefault(key, MergedProduct([], [], [], parts=parts))
        group.works.append(work)
        group.weights.append(weight)
        group.biases.append(bias)
    return {id(work): group for group in groups.values() if len(group.works) >= LEAST for work in group.works}


def _is_product(work: Work) -> bool:
    return work.op == "nn.matmul" and len(work.operands) >= 2


def _is_mergeable(work: Work, weight: Work, bias: Work | None) -> bool:
    """Return whether a product is one with a matrix, columns of whole tiles, a bias that is a row, and no activation."""
    shape = weight.results[0].shape
    has_bias = len(work.operands) > 2 and work.operands[2] is not None
    return (
        prod(shape[:-2]) == 1
        and len(shape) <= max(2, len(work.results[0].shape))
        and work.results[0].shape[-1] % TILE == 0
        and not work.attrs["transpose_a"]
        and work.attrs.get("activation") is None
        and weight.attrs.get("parts") in (None, len(shape) - (2 if work.attrs["transpose_b"] else 1))
        and (not has_bias or (bias is not None and prod(bias.results[0].shape[:-1]) == 1))
    )

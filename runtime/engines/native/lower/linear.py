"""Lowering of matrix products from tile to jobs."""

from __future__ import annotations

from dataclasses import replace

from ttc.runtime.engines.native.graph.ranges import INTEGERS
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import block_of, left_operand, multiplier_of, multiply, packed
from ttc.runtime.engines.native.jobs.scaled_choice import are_scaled
from ttc.runtime.engines.native.jobs.tile_choice import tile_parts
from ttc.runtime.engines.native.lower import LOWERINGS, takes_region


@LOWERINGS.rule("matmul")
@takes_region
def matmul(n: Lowering) -> None:
    """Lower activation(a @ b + bias), batches broadcast; b is packed, at load if it is constant.  accumulate: the sum is one product."""
    n.only("transpose_a", "transpose_b", "accumulate", "activation", "activation_args")
    a, b = (_matrix(n, i, f"transpose_{name}") for i, name in enumerate("ab"))
    if n.attr("accumulate", False):
        a, b = _side_by_side(n, a), _on_top(n, b)
    shape = n.result_shape()
    if 0 in (*shape, a.shape[-1]):
        raise NotTaken("no elements")
    bias = n.operand(2) if n.has(2) else None
    if a.storage in INTEGERS or b.storage in INTEGERS:
        from ttc.runtime.engines.native.jobs.integer_products import multiply_integers

        multiply_integers(n, a, b, bias)
        return
    parts = tile_parts(n, b, _rows(a, b), shape[-1], a.shape[-1])
    if parts:
        from ttc.runtime.engines.native.jobs.amx_products import multiply_in_tiles

        multiply_in_tiles(n, a, b, bias, parts)
        return
    if are_scaled(n, b, shape[-1], a.shape[-1]):
        from ttc.runtime.engines.native.jobs.scaled_products import multiply_scaled

        multiply_scaled(n, a, replace(b, shape=b.shape[-2:], strides=b.strides[-2:]), bias)
        return
    multiplier = multiplier_of(n, a.shape[-1])
    block = block_of(n, _rows(a, b), shape[-1], a.shape[-1])
    multiply(n, left_operand(n, a, multiplier), packed(n, b, block, multiplier), bias, multiplier)


def _matrix(n: Lowering, index: int, flag: str) -> View:
    """Return an operand [batch..., rows, columns] as it is multiplied."""
    view = n.operand(index)
    if len(view.shape) < 2:
        raise NotTaken("an operand that is no matrix")
    if not n.attr(flag, False):
        return view
    *batch, rows, columns = range(len(view.shape))
    return view.permuted([*batch, columns, rows])


def _side_by_side(n: Lowering, a: View) -> View:
    """[..., z, rows, depth] -> [..., rows, z * depth]."""
    *batch, z, rows, depth = a.shape
    axes = range(len(batch))
    return n.reshaped(a.permuted([*axes, len(batch) + 1, len(batch), len(batch) + 2]), (*batch, rows, z * depth))


def _on_top(n: Lowering, b: View) -> View:
    """[..., z, depth, columns] -> [..., z * depth, columns]."""
    *batch, z, depth, columns = b.shape
    return n.reshaped(b, (*batch, z * depth, columns))


def _rows(a: View, b: View) -> int:
    """Return rows that meet the same right operand: those of a batch too, if b has none."""
    rows = a.shape[-2]
    if all(size == 1 for size in b.shape[:-2]):
        for size in a.shape[:-2]:
            rows *= size
    return rows

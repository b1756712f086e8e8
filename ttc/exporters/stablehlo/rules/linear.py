"""Products of matrices, as dot products over dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ttc.exporters.stablehlo.literals import HloValue, listed
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.rules.activation import with_activation
from ttc.exporters.stablehlo.writer import HloWriter

HLO_RULES.refuse("StableHLO has no determinants", "det")


def product(step: HloWriter, a: HloValue, b: HloValue, *, flip_a: bool = False, flip_b: bool = False) -> HloValue:
    """Write a product over the last two dimensions, of which a or b may have exchanged the two; those before are broadcast."""
    lead: tuple[int, ...] = ()
    if len(b.shape) > 2:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = (step.broadcast(side, (*lead, *side.shape[-2:])) for side in (a, b))
    axes = (len(a.shape) - (2 if flip_a else 1), len(b.shape) - (1 if flip_b else 2))
    return contracted(step, a, b, [axes], len(lead))


def contracted(step: HloWriter, a: HloValue, b: HloValue, axes: Sequence[tuple[int, int]], batch: int = 0) -> HloValue:
    """Write a product summed over pairs of axes; the first `batch` dimensions are those of both."""
    sides = [[pair[side] for pair in axes] for side in (0, 1)]
    left = [
        [size for axis, size in enumerate(x.shape) if axis >= batch and axis not in side] for x, side in zip((a, b), sides, strict=True)
    ]
    dims = listed(
        lhs_batching_dimensions=range(batch),
        rhs_batching_dimensions=range(batch),
        lhs_contracting_dimensions=sides[0],
        rhs_contracting_dimensions=sides[1],
    )
    attrs = {"dot_dimension_numbers": f"#stablehlo.dot<{dims}>"}
    return step.make("dot_general", a, b, shape=[*a.shape[:batch], *left[0], *left[1]], attrs=attrs)


@HLO_RULES.rule("matmul")
def matmul(step: HloWriter) -> HloValue:
    """Write a product, a bias and an activation behind it; integers of few bits are multiplied as those of 32."""
    narrow = step.out_dtype.kind in "iu" and step.out_dtype.itemsize < 4
    a, b = (step.convert(step.x(index), np.int32) if narrow else step.x(index) for index in (0, 1))
    made = product(step, a, b, flip_a=bool(step.attr("transpose_a")), flip_b=bool(step.attr("transpose_b")))
    made = step.convert(made, step.out_dtype)
    return with_activation(step, step.elementwise("add", made, step.x(2)) if step.has(2) else made)


@HLO_RULES.rule("grouped_matmul")
def grouped_matmul(step: HloWriter) -> HloValue:
    """Write rows times the matrices of their groups as one product over groups and features, 0 in the groups that are not a row's."""
    x, w, groups = step.x(0), step.x(1), step.x(2)
    rows, width, count = *x.shape, w.shape[0]
    shape = (rows, count, width)
    own = step.compare("EQ", step.count((rows, count), 1, groups.dtype), step.spread(groups, (rows, count), [0]))
    own = step.spread(own, shape, [0, 1])
    spread = step.spread(x, shape, [0, 2])
    chosen = step.select(own, spread, step.filled(0, spread))
    return contracted(step, chosen, w, [(1, 0), (2, 2 if step.attr("transpose_w") else 1)])

"""Lowering of ensembles of decision trees from tile to jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.kernels.trees import ROWS, WALKS, PackTrees, WalkTrees, record_bytes
from ttc.runtime.engines.native.lower import LOWERINGS

if TYPE_CHECKING:
    from ttc.runtime.engines.native.graph.tensors import View
    from ttc.runtime.engines.native.kernels.words import Word

_EMPTY = {"sum": "-0.0", "min": "nan", "max": "nan"}
"""Weights that change no result, by the way trees are combined."""
_SCRATCH_BYTES = 1 << 19
"""Scratch memory that the rows of a task take together, if one row takes less."""
_MOST_BYTES = 1 << 26
_STEPS = 8
"""Nodes that a row meets in a tree, as a guess for reports."""


@LOWERINGS.rule("tree_ensemble")
def tree_ensemble(n: Lowering) -> None:
    """Lower tile.tree_ensemble: trees packed once, if they are constants, and all rows in blocks."""
    n.only("aggregate", "count")
    x, nodes, splits, roots, weights = (n.dense(i) for i in range(5))
    targets = n.dense(5) if n.has(5) else None
    aggregate, of, computed = str(n.attr("aggregate")), n.attr("count"), _computed(n, x, splits, weights)
    if aggregate not in _EMPTY or not isinstance(of, int):
        raise NotTaken(f"aggregate {aggregate}")
    if any(view is not None and view.storage != "i32" for view in (nodes, roots, targets)):
        raise NotTaken("nodes, roots or targets that are not of 32 bits")
    (rows, features), (leaves, width) = x.shape, weights.shape
    row_bytes = (2 * features + of) * STORAGE_BYTES[computed]
    if row_bytes > _MOST_BYTES or splits.elements + leaves >= 1 << 31:
        raise NotTaken(f"{features} features, {of} targets or {splits.elements} nodes")
    trees = min(WALKS, 1 << (roots.elements.bit_length() - 1)) if rows > 1 else WALKS
    filled = -(-roots.elements // trees) * trees
    is_single = of == width == 1 and targets is None
    records = n.temp(((splits.elements + leaves + 1) * record_bytes(computed) // 4,), "i32")
    places, bad = n.temp((filled,), "i32"), n.temp((1,), "i64")
    pack = PackTrees(computed, splits.storage, weights.storage, is_single, _EMPTY[aggregate])
    sizes: dict[str, Word] = {"features": features, "count": splits.elements, "leaves": leaves, "trees": roots.elements, "filled": filled}
    packed: dict[str, Word] = {"records": records, "places": places, "bad": bad}
    given: dict[str, Word] = {"nodes": nodes, "splits": splits, "roots": roots, "weights": weights}
    n.job(pack, {**given, **packed, **sizes}, tasks=1, written=[records, places, bad])
    y, block = n.result(), max(1, min(ROWS, rows, _SCRATCH_BYTES // row_bytes))
    kernel = WalkTrees(x.storage, y.storage, weights.storage, computed, aggregate, is_single, trees, targets is not None)
    own: dict[str, Word] = {"x": x, "weights": weights, "y": y, "status": n.status, "rows": rows, "block": block} | {
        "width": width,
        "of": of,
    }
    named: dict[str, Word] = {} if targets is None else {"targets": targets}
    n.job(
        kernel,
        {**own, **named, **sizes, **packed},
        tasks=-(-rows // block),
        written=[y, n.status],
        scratch=-(-block // WALKS) * WALKS * row_bytes,
        flops=rows * roots.elements * (_STEPS + width),
        moved_bytes=sum(view.elements * view.item_bytes for view in (x, y, records)),
    )


def _computed(n: Lowering, *views: View) -> Literal["f32", "f64"]:
    """Return the type of splits and sums.  Raises NotTaken where operands are of two."""
    wide = {view.storage == "f64" for view in views} | {n.result_storage() == "f64"}
    if len(wide) > 1 or any(view.storage not in (*FLOATS, "f64") for view in views):
        raise NotTaken(" and ".join(view.storage for view in views))
    return "f64" if wide.pop() else "f32"

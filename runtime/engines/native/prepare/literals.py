"""Nodes whose results are written out in the program."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.evaluate import MALFORMED
from ttc.dialects.core.plain.interpret import run_unrounded, run_work
from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.graph.region import result_storage
from ttc.runtime.engines.native.graph.storage import stored
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.copies import constant

LITERAL = "ttc.constant"


def literal_view(node: Node) -> View | None:
    """Return the values that a node writes out, in place before any run; None for another node, or what only the reference engine can
    hold.
    """
    work = node.work
    if work.op != LITERAL or not isinstance(work.attrs.get("values"), tuple) or len(work.results) != 1 or node.region is not None:
        return None
    storage = result_storage(work.results[0], node.unrounded)
    if storage is None or not work.results[0].elements:
        return None
    try:
        (value,) = (run_unrounded if node.unrounded else run_work)(work, [])
    except (Error, *MALFORMED):
        return None
    return constant(stored(value, storage), storage)

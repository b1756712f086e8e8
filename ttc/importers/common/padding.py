"""Rows of embeddings that stand for padding."""

from __future__ import annotations

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.dynamic import with_axes


def untrained_padding(b: Builder, found: SSAValue, indices: SSAValue, padding: SSAValue) -> SSAValue:
    """Return embeddings of which those of the padding pass no gradient on.

    Args:
        found: a row for each index.
        indices: of the rows.
        padding: the index that is padding, a number of the dtype of the indices.
    """
    is_padding = with_axes(b, b.nn("equal", indices, padding), (b.rank(indices),))
    return b.nn("where", is_padding, b.nn("stop_gradient", found), found)

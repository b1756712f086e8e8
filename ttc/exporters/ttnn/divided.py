"""A program whose tensors the chips of a mesh divide: that of all, and that of one chip, with the works between chips."""

from __future__ import annotations

from dataclasses import replace

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function
from ttc.exporters.graph import ModelGraph
from ttc.passes.nn.sharding.cut import with_products_cut
from ttc.passes.nn.sharding.divide import ALL_GATHER, REDUCE_SCATTER, ROWS, divided


def tensor_divided(graph: ModelGraph, chips: int) -> tuple[ModelGraph, ModelGraph]:
    """Divide the tensors of a program's layers among chips; returns the program of all, and that of one, work by work.

    Raises E0503 if nothing can be divided.
    """
    function, updates = with_products_cut(graph.function), [output.updates for output in graph.outputs]
    found = divided(function, updates, chips, ROWS)
    if found.count(ALL_GATHER) > found.count(REDUCE_SCATTER):
        found = divided(function, updates, chips, None)  # more would be sent than sums of all rows take
    if not found.started:
        reason = "no heads and no columns of its products are a multiple of the chips, or what reads them needs all"
        raise Error(
            "E0503", f"the tensors of the model cannot be divided over {chips} chips: {reason}", hint="--parallel batch divides rows"
        )
    whole, part = (
        replace(graph, function=Function(function.inputs, tuple(works), found.outputs), chips=chips, kept=tuple(found.kept))
        for works in (found.whole, found.part)
    )
    return whole, part

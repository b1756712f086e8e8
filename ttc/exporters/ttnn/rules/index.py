"""Rows of tables by computed indices."""

from __future__ import annotations

from math import prod

from ttc.exporters.ttnn import weights as store
from ttc.exporters.ttnn.code import call, numbers
from ttc.exporters.ttnn.op_text import Elsewhere, OpText
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.values import FULL, lifted

RULES.refuse("elements at computed places are gathered on the host", "gather_elements", "gather_nd")


@RULES.rule("gather")
def gather(step: OpText) -> None:
    """Write an embedding: rows of a table on the device, by indices from the host."""
    table, indices = step.operand(0), step.operand(1)
    if not table.is_float or len(table.shape) != 2 or step.axis() != -2 or table.leaf is None:
        raise Elsewhere("it is no table of rows")
    if step.emitter.format == store.FLOAT32:
        raise Elsewhere("TT-NN's tables are of 16 bits")
    if indices.leaf is not None or indices.on_device or len(indices.shape) > 2:
        raise Elsewhere("its indices are no input of one or two dimensions")
    rows = step.emitter.weight(table, "table", step.array(0), format_=store.BFLOAT16, layout=store.ROW_MAJOR)
    from_end = f"({step.host(1)} % {table.shape[0]})" if indices.dtype.kind == "i" else None  # places from -1 down count from the end
    places = step.emitter.upload(indices, store.ROW_MAJOR, store.UINT32, from_end)
    made = call("ttnn.embedding", places, rows, layout="ttnn.TILE_LAYOUT", dtype=f"ttnn.{step.emitter.format}")
    found = (*lifted(indices.shape), table.shape[1])
    if prod(found) == prod(step.shape) and found == lifted(step.shape):
        step.give(made, FULL)
    else:
        step.give(call("ttnn.reshape", step.let("rows", made, found), numbers(lifted(step.shape))))

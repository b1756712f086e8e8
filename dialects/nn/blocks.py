"""Rows of which data decide how many there are, in blocks of fixed numbers of rows: what computes a block has static shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.irdl import irdl_op_definition, prop_def, traits_def, var_operand_def, var_region_def, var_result_def
from xdsl.traits import IsolatedFromAbove

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INT
from ttc.dialects.core.ir.spec import DYNAMIC, Spec
from ttc.dialects.nn.base import TENSOR
from ttc.dialects.nn.control import ControlOp, Ends, accepts


@irdl_op_definition
class RowBlocksOp(ControlOp):
    """Ops that treat each row by itself, on blocks of rows: a region for each number of rows that a block can have.

    The rows are cut into blocks, the largest first; the last one is filled up with rows of its own, whose results are dropped.  What the
    regions compute of a row must not depend on other rows.

    Args:    values: first those that are cut into blocks, tensor[?, ...], of as many rows each; then those that every block takes whole.
             rows: how many are cut.  regions: each takes the values, the first of them with the rows of its blocks in dimension 0; the
             numbers of rows ascend.  They yield as many tensors, alike in all but these rows.
    Returns: ys: tensor[?, ...]: of all rows.  Values that differ in rows are E0802 when it runs.
    Raises:  E0401, E0402, E0403 where a region does not fit the values or the others.
    Source:  the pass block-rows.
    """

    name = "nn.row_blocks"
    values = var_operand_def(TENSOR)
    rows = prop_def(INT)
    blocks = var_region_def("single_block")
    ys = var_result_def(TENSOR)
    traits = traits_def(IsolatedFromAbove())

    @classmethod
    def arguments(cls, operands: Sequence[Spec | None], attrs: dict[str, Any]) -> tuple[Spec, ...]:
        return tuple(x for x in operands if x is not None)

    @classmethod
    def takes(cls, number: int, inner: Spec, outer: Spec, attrs: dict[str, Any]) -> bool:
        cut = number < max(attrs["rows"], 1) and inner.rank == outer.rank > 0
        return accepts(inner, Spec((inner.shape[0], *outer.shape[1:]), outer.dtype) if cut else outer)

    @classmethod
    def infer_with(cls, operands: Sequence[Spec | None], attrs: dict[str, Any], ends: Sequence[Ends]) -> tuple[Spec, ...]:
        rows = attrs["rows"]
        if not 1 <= rows <= len(operands) or not ends:
            raise Error("E0402", f"{rows} of {len(operands)} values are cut into blocks for {len(ends)} regions")
        sizes = [_size(end, rows) for end in ends]
        if sizes[0] < 1 or sizes != sorted(set(sizes)):
            raise Error("E0401", f"blocks of {', '.join(map(str, sizes))} rows do not ascend")
        given = [tuple(_of_all_rows(y, size) for y in end.yields) for end, size in zip(ends, sizes, strict=True)]
        if any(other != given[0] for other in given):
            raise Error("E0401", "regions for blocks of rows yield values that differ in more than their rows")
        return given[0]


def _size(end: Ends, rows: int) -> int:
    """Return the rows of the blocks of a region.  Raises E0401."""
    found = {x.shape[0] if x.rank else DYNAMIC for x in end.takes[:rows]}
    if len(found) != 1:
        raise Error("E0401", f"a region takes blocks of {', '.join(map(str, sorted(found)))} rows")
    return found.pop()


def _of_all_rows(spec: Spec, size: int) -> Spec:
    """Return the type of a result, given that of its blocks.  Raises E0401."""
    if spec.rank == 0 or spec.shape[0] != size:
        raise Error("E0401", f"a region for blocks of {size} rows yields {spec}")
    return Spec((DYNAMIC, *spec.shape[1:]), spec.dtype)

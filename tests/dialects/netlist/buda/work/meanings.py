"""What tests of the meaning of Buda ops share: one op of the form through its work, the dialect's own rules, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import rng_of_test
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Function, TensorType
from ttc.dialects.netlist.buda.form import BudaOp, FusedOp, Tm
from ttc.dialects.netlist.buda.work import OpForm, form_of, work_of
from ttc.dialects.netlist.model import Blocking, Grid, Op
from ttc.dialects.tile.base import Tile, ops

INNER = ("matmul", "reduce", "depthwise", "topk")


def buda(type_: str, grid: tuple[int, int] = (1, 1), t: int = 1, mblock: tuple[int, int] = (1, 1), **fields: Any) -> BudaOp:
    """An op of the form; `tms` are those of its inputs."""
    fields = {"ublock": (1, 1), "ublock_order": "r", "out_df": "Float32", "input_tms": fields.pop("tms", {})} | fields
    return BudaOp("op", type_, grid_size=grid, t=t, mblock=mblock, **fields)


def tensor(array: NDArray, format_: str = "Float32", tile: tuple[int, int] | None = (32, 32)) -> TensorType:
    """The type of an array."""
    return TensorType(array.shape, format_, "rows" if tile is None else f"tiles({tile[0]}, {tile[1]})")


def random(*shape: int) -> NDArray:
    """Numbers around zero."""
    return rng_of_test().standard_normal(shape).astype(np.float32)


def work(op: BudaOp, arrays: Sequence[NDArray], types: Sequence[TensorType | None] = (), fused: FusedOp | None = None) -> Function:
    """The work of an op, each of whose results the dialect's own rule confirms."""
    given = [*types, *[None] * (len(arrays) - len(types))]
    found = work_of(op, [tensor(a) if t is None else t for a, t in zip(arrays, given, strict=True)], fused, "grayskull")
    values = found.value_types
    for made in found.works:
        operands = [None if i is None else Tile(values[i].shape, values[i].format) for i in made.operands]
        assert ops()[made.op.partition(".")[2]].infer(*operands, **made.attrs) == [made.results[0].shape], made.op
    return found


def result(op: BudaOp, *arrays: NDArray, types: Sequence[TensorType | None] = (), fused: FusedOp | None = None) -> NDArray:
    """What an op gives; its work reads back as the op."""
    found = work(op, arrays, types, fused)
    if fused is None:
        back(op, found)
    return interpret.run(found, list(arrays))[0]


def back(op: BudaOp, function: Function) -> OpForm:
    """The form that a work reads as: the op's type, TMs, pads and unpads, and attributes that it has."""
    form = form_of(placed(op, function))
    assert form.type == op.type
    assert form.inputs == tuple(range(len(function.inputs)))
    assert dict(form.tms) == {i: tuple(tms) for i, tms in op.input_tms.items() if tms}
    assert (dict(form.pads), dict(form.unpads)) == (dict(op.pads), dict(op.unpads))
    for name, value in form.attributes.items():
        assert op.attributes.get(name, value) == value
    return form


def placed(op: BudaOp, function: Function) -> Op:
    """An op of a netlist with that work."""
    grid, mblock, ublock = op.grid_size or (1, 1), op.mblock or (1, 1), op.ublock or (1, 1)
    blocking = Blocking(op.t or 1, mblock, ublock, "c" if op.ublock_order == "c" else "r")
    inner = (op.attributes["m_k"], op.attributes["u_kt"]) if op.type in INNER and "u_kt" in op.attributes else None
    names = tuple(f"in{i}" for i in range(len(function.inputs)))
    formats = {"intermediate": op.intermed_df or "Float32", "accumulate": op.acc_df or "Float32"}
    return Op("op", op.type or "", names, Grid(0, 0, *grid), blocking, function, inner=inner, **formats)  # pyright: ignore[reportArgumentType]


def check_error(code: str, op: BudaOp, *shapes: tuple[int, ...], fused: FusedOp | None = None) -> None:
    """The op has no work on inputs of those shapes, and the error names it."""
    with pytest.raises(Error) as error:
        work_of(op, [TensorType(shape, "Float32", "tiles(32, 32)") for shape in shapes], fused, "grayskull")
    assert error.value.code == code
    assert (error.value.where or "").startswith("op")


def tms(**lists: Sequence[Tm]) -> Mapping[int, tuple[Tm, ...]]:
    """TMs by input: `i0 = [...]`."""
    return {int(name[1:]): tuple(items) for name, items in lists.items()}

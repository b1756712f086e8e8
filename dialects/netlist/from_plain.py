"""From plain functions to blocks of IR: the inverse of `core.to_plain`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Block, Region, SSAValue

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import DTYPE, Literal, LiteralAttr, WeightAttr
from ttc.dialects.core.ir.leaves import CORE
from ttc.dialects.core.ir.locations import location_of
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.netlist.sizes import tile_shape
from ttc.dialects.nn.base import ops as nn_ops
from ttc.dialects.nn.control import YieldOp as ControlYieldOp
from ttc.dialects.tile.base import Tile, tile_type
from ttc.dialects.tile.base import ops as tile_ops

TENSOR_OPERANDS = "tile.from_host"
TENSOR_RESULTS = "tile.to_host"


def function_block(function: Function, arguments: Sequence[Attribute], last: type[TtcOp], *, on_host: bool = False) -> Block:
    """A block that computes a function and ends in an op of class `last` with its outputs.

    Args:    arguments: types of the inputs; on_host: whether what it takes and gives are builtin tensors.
    Raises:  E0302 for works that are no ops, or whose operands or attributes an op cannot have.
    """
    block = Block(arg_types=arguments)
    values: list[SSAValue] = list(block.args)
    on_tensors = _tensor_values(function)
    if on_host:
        on_tensors.update(range(len(function.inputs)), function.outputs)
    for work in function.works:
        try:
            op = _op(work, values, [ir_type(t, len(values) + i in on_tensors) for i, t in enumerate(work.results)])
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            message = f"{work.op} cannot have these operands and attributes: {type(error).__name__}: {str(error)[:120]}"
            raise Error("E0302", message, where=" + ".join(work.location) or None) from None
        block.add_op(op)
        values.extend(op.results)
    block.add_op(last.make([values[i] for i in function.outputs], {}, (), location_of(())))
    return block


def ir_type(type_: TensorType, on_tensors: bool) -> Attribute:
    """Return the type of IR: of dialect tile, or for values of host ops the builtin tensor.  Raises E0302."""
    if on_tensors:
        dtype = format_named(type_.format).storage
        if dtype.names is not None:
            raise Error("E0302", f"host ops do not take tensors of format {type_.format}")
        return tensor_type(Spec(type_.shape, dtype))
    return _tile(type_)


@cache
def _tile(type_: TensorType) -> Attribute:
    tile = tile_shape(type_.layout)
    parts = type_.layout.rstrip(")").split(", ")
    return tile_type(Tile(type_.shape, type_.format, tile, int(parts[2]) if len(parts) == 3 else 1))


def takes_tensors(function: Function, index: int) -> bool:
    """Return whether an input of a work is a builtin tensor: its first reader is an op of the host."""
    return index in _tensor_values(function)


def _tensor_values(function: Function) -> set[int]:
    """Return numbers of the values that are builtin tensors: results of host ops, and what these read of inputs and leaves."""
    found: set[int] = set()
    value = len(function.inputs)
    leaves = set(range(value))
    for work in function.works:
        results = range(value, value + len(work.results))
        value += len(work.results)
        if _on_tensors(work.op, TENSOR_RESULTS):
            found.update(results)
        if work.op.startswith("ttc."):
            leaves.update(results)
        readable = leaves & {i for i in work.operands if i is not None}
        if _on_tensors(work.op, TENSOR_OPERANDS):
            found.update(readable)
        leaves -= readable
    if not function.works and any(-1 in t.shape for t in function.inputs):
        found.update(range(len(function.inputs)))
    return found


def _on_tensors(op: str, border: str) -> bool:
    return op.startswith("nn.") or op == border


@cache
def _classes() -> dict[str, type[TtcOp]]:
    leaves = {str(op.name): op for op in CORE.operations if issubclass(op, TtcOp)}
    return leaves | {f"nn.{k}": v for k, v in nn_ops().items()} | {f"tile.{k}": v for k, v in tile_ops().items()}


def _op(work: Work, values: Sequence[SSAValue], results: Sequence[Attribute]) -> Any:
    kind = _classes().get(work.op)
    if kind is None:
        raise Error("E0302", f"there is no op '{work.op[:60]}'", hint=nearest(work.op[:60], _classes()))
    operands = [None if i is None else values[i] for i in work.operands]
    regions: list[Region] = []
    if work.body is not None:
        inner = [x.type for x in operands if x is not None]
        regions.append(Region(function_block(work.body, inner, _classes()["tile.yield"])))
    for body in work.bodies:
        inner = [ir_type(t, on_tensors=True) for t in body.inputs]
        regions.append(Region(function_block(body, inner, ControlYieldOp, on_host=True)))
    attrs = _leaf(work) if work.op.startswith("ttc.") else _attrs(kind, work.attrs)
    return kind.make(operands, attrs, results, location_of(work.location), regions)


def _attrs(kind: type[TtcOp], attrs: dict[str, Plain]) -> dict[str, Any]:
    properties = kind.get_irdl_definition().properties
    unknown = next((name for name in attrs if name not in properties), None)
    if unknown is not None:
        raise Error("E0302", f"{kind.name} has no attribute '{unknown[:60]}'", hint=nearest(unknown[:60], properties))
    return {k: np.dtype(str(v)) if properties[k].constr is DTYPE and v is not None else v for k, v in attrs.items()}


def _leaf(work: Work) -> dict[str, Any]:
    """Return the value of a leaf: a literal, or a weight by its key."""
    (type_,) = work.results
    rest = {k: v for k, v in work.attrs.items() if k not in ("values", "key")}
    spec = Spec(type_.shape, format_named(type_.format).compute)
    values = work.attrs.get("values")
    if isinstance(values, tuple):
        if spec.dtype == STRING:
            return {"value": LiteralAttr(Literal(tuple(map(str, values)), spec)), **rest}
        convert = {"f": float, "V": float, "b": bool}.get(spec.dtype.kind, int)
        numbers = tuple([convert(v) for v in values if isinstance(v, bool | int | float)])
        return {"value": LiteralAttr(Literal(numbers, spec)), **rest}
    return {"value": WeightAttr.of(str(work.attrs["key"]), spec), **rest}

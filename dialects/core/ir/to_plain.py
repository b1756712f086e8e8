"""From IR to plain functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.ir.adapter import TtcOp, is_structured
from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work


def plain_type(type_: Attribute) -> TensorType:
    """Return the plain form of a tensor type of nn or tile.  Raises E0302."""
    convert = getattr(type_, "plain_type", None)
    if convert is not None:
        return convert()
    spec = spec_of(type_)
    return TensorType(spec.shape, format_of(spec.dtype).name)


def plain_block(block: Block) -> Function:
    """Return a block that ends in a terminator: its arguments are the inputs, the terminator's operands the outputs."""
    *body, last = block.ops
    return plain_ops(body, list(block.args), list(last.operands))


def plain_ops(body: Sequence[Operation], inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Function:
    """Return ops in program order as a plain function of `inputs`."""
    numbers: dict[SSAValue, int] = {value: i for i, value in enumerate(inputs)}
    works: list[Work] = []
    for op in body:
        works.append(plain_work(op, numbers))
        for result in op.results:
            numbers[result] = len(numbers)
    return Function(tuple(plain_type(v.type) for v in inputs), tuple(works), tuple(numbers[v] for v in outputs))


def plain_work(op: Operation, numbers: dict[SSAValue, int]) -> Work:
    """Return one op, given the numbers of the values before it.  Raises E0302 for an op that is not ours."""
    if not isinstance(op, TtcOp):
        raise Error("E0302", f"{op.name} cannot be executed")
    attrs = leaf_attrs(op) if isinstance(op, LeafOp) else {k: plain_attr(v) for k, v in op.plain_attrs().items()}
    decides = is_structured(op)
    return Work(
        op.name,
        tuple(None if v is None else numbers[v] for v in op.named_operands()),
        attrs,
        tuple(plain_type(r.type) for r in op.results),
        plain_block(op.regions[0].block) if op.regions and not decides else None,
        source_names(op.location),
        tuple(plain_block(region.block) for region in op.regions) if decides else (),
    )


def leaf_attrs(op: LeafOp) -> dict[str, Plain]:
    """`values` of a literal, or the `key` of a weight; `sym` of a parameter or state."""
    attrs = {k: plain_attr(v) for k, v in op.plain_attrs().items() if k != "value"}
    if isinstance(op.value, LiteralAttr):
        return {"values": tuple(op.value.data.values), **attrs}
    return {"key": op.value.key.data, **attrs}


def plain_attr(value: object) -> Plain:
    """Return an attribute's plain value as plain functions and JSON hold it: dtypes become names."""
    match value:
        case np.dtype():
            return str(value)
        case tuple():
            return tuple(plain_attr(x) for x in value)
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise Error("E0302", f"attribute {value} has no plain form")

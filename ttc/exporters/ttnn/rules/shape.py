"""Views and copies: reshape, transpose, expand, repeat."""

from __future__ import annotations

from ttc.exporters.ttnn.caches import TURN
from ttc.exporters.ttnn.code import call, numbers
from ttc.exporters.ttnn.op_text import Elsewhere, OpText, ints
from ttc.exporters.ttnn.rules import RULES
from ttc.exporters.ttnn.values import FLAT, FULL, TURNED, flattened, lifted

RULES.refuse("shapes are integers, which the host computes with", "shape")


@RULES.rule("reshape")
def reshape(step: OpText) -> None:
    """Write a reshape; an image may become another shape from its row of pixels."""
    value = step.operand(0)
    if not value.is_float and value.dtype.kind != "b":
        raise Elsewhere("its operand is of integers")
    source, shape = (step.flat(0), flattened(value.shape)) if value.is_flat else (step.full(0), lifted(value.shape))
    if shape == lifted(step.shape):
        step.same(FULL, source)
        return
    if not value.is_flat and len(step.shape) == 4 and shape == flattened(step.shape):
        step.same(FLAT, source)
        return
    step.give(call("ttnn.reshape", source, numbers(lifted(step.shape))))


@RULES.rule("transpose")
def transpose(step: OpText) -> None:
    """Write a permutation of dimensions."""
    value, perm = step.operand(0), ints(step, "perm")
    if not value.is_float and value.dtype.kind != "b":
        raise Elsewhere("its operand is of integers")
    if len(perm) < 2:
        step.same(FULL, step.full(0))
        return
    if perm == TURN and TURNED in value.forms and FULL not in value.forms:
        step.same(FULL, value.forms[TURNED])
        return
    if id(step.work) in step.emitter.caches.turns:
        step.same(TURNED, step.full(0))
        return
    moved = [axis for axis in perm if value.shape[axis] != 1]
    if moved == sorted(moved):
        step.give(call("ttnn.reshape", step.full(0), numbers(step.shape)), stem="transpose")
        return
    step.give(call("ttnn.permute", step.full(0), numbers(perm)))


@RULES.rule("expand", "repeat")
def repeat(step: OpText) -> None:
    """Write copies along one or more dimensions."""
    value = step.operand(0)
    if not value.is_float and value.dtype.kind != "b":
        raise Elsewhere("its operand is of integers")
    own = (1,) * (len(step.shape) - len(value.shape)) + value.shape
    if 0 in own or 0 in step.shape:
        raise Elsewhere("it has no elements")
    source = step.full(0)
    counts = [size // old for size, old in zip(lifted(step.shape), lifted(own), strict=True)]
    if lifted(own) != lifted(value.shape):
        source = step.let("lifted", call("ttnn.reshape", source, numbers(lifted(own))), own)
    if all(count == 1 for count in counts):
        step.same(FULL, source)
    else:
        step.give(call("ttnn.repeat", source, numbers(counts)))

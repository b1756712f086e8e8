"""Bodies of loops whose iterations do not depend on each other: each op once, on what all iterations have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axes_in
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.reduce import ReduceOp
from ttc.dialects.nn.shape import ReshapeOp, TransposeOp
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported

MAX_ELEMENTS = 1 << 26
"""The most elements that one value of all iterations may have; larger ones are made iteration by iteration."""


def batched(b: Builder, size: int, given: Mapping[SSAValue, SSAValue], ops: Sequence[NNOp], results: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the results of a body in all iterations, [size, ...].

    Args:
        size: number of iterations.
        given: what the body takes, and the same of all iterations, [size, ...].
        ops: of the body, in order; they are left as they are.
        results: values of the body, or from outside of it.
    Raises: Unsupported for ops that have no form for many iterations at once, and for values that would be too large.
    """
    places, alike = dict(given), dict[SSAValue, SSAValue]()
    for op in ops:
        if op.regions:
            raise Unsupported("branches and loops in many iterations at once")
        if any(x in places for x in op.operands):
            places.update(zip(op.results, b.place(_on_all(b, op, places, alike, size)), strict=True))
        else:
            operands = [None if x is None else alike.get(x, x) for x in op.named_operands()]
            alike.update(zip(op.results, b.place(type(op).build(*operands, location=op.location, **op.plain_attrs())), strict=True))
    return [places[x] if x in places else _repeated(b, alike.get(x, x), size) for x in results]


def _repeated(b: Builder, x: SSAValue, size: int) -> SSAValue:
    """Return what all iterations have alike, once for each of them."""
    return b.nn("expand", b.reshape(x, 1, *b.shape(x)), shape=(size, *b.shape(x)))


def _on_all(b: Builder, op: NNOp, places: Mapping[SSAValue, SSAValue], alike: Mapping[SSAValue, SSAValue], size: int) -> NNOp:
    """Return an op on the values of all iterations; alike: what they have alike.  Raises Unsupported."""
    attrs = op.plain_attrs()
    shape = spec_of(op.results[0].type).shape
    given = op.named_operands()
    operands = [None if x is None else places.get(x, alike.get(x, x)) for x in given]
    if isinstance(op, ReduceOp):
        attrs["axes"] = tuple(a + 1 for a in axes_in(attrs["axes"], b.rank(op.operands[0])))
    elif isinstance(op, ReshapeOp):
        attrs["shape"] = (size, *shape)
    elif isinstance(op, TransposeOp):
        attrs["perm"] = (0, *(axis + 1 for axis in attrs["perm"]))
    elif getattr(op, "ELEMENTWISE", False):
        operands = [_aligned(b, x, len(shape)) if x is not None and y in places else x for x, y in zip(operands, given, strict=True)]
    else:
        raise Unsupported(f"{op.name} in many iterations at once")
    new = type(op).build(*operands, location=op.location, **attrs)
    specs = [(spec_of(x.type), spec_of(y.type)) for x, y in zip(new.results, op.results, strict=True)]
    if any(x.shape != (size, *y.shape) or x.dtype != y.dtype for x, y in specs):
        raise Unsupported(f"{op.name} mixes iterations")
    if any(x.elements > MAX_ELEMENTS for x, _ in specs):
        raise Unsupported(f"{op.name} of {size} iterations has more than {MAX_ELEMENTS} elements")
    return new


def _aligned(b: Builder, x: SSAValue, rank: int) -> SSAValue:
    """Return a value of all iterations with dimensions of 1 behind the first, so that one iteration's part has a rank."""
    size, *own = b.shape(x)
    return b.reshape(x, size, *(1 for _ in range(rank - len(own))), *own)

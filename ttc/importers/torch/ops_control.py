"""Branches and loops of torch.cond, while_loop and scan: known ones are taken or written out, others become regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.control import LoopIteration, branch, loop
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows
from ttc.importers.torch.values import flat, holds_refused

Body = Callable[..., Any]
MAX_WRITTEN_OUT = 32
"""The most iterations of a scan that become ops one after the other."""


def cond(b: TorchBuilder, predicate: Any, when_true: Body, when_false: Body, operands: Sequence[Any] = ()) -> tuple[SSAValue, ...]:
    """Return the results of one of two bodies."""
    known = b.known(predicate) if isinstance(predicate, SSAValue) else np.array(predicate)
    if known is not None and known.size != 1:
        raise Unsupported(f"a choice by {known.size} values")
    if known is not None:
        return _values(b, (when_true if known.item() else when_false)(*operands))
    return branch(b, predicate, [lambda body=body: _values(b, body(*operands)) for body in (when_true, when_false)])


def while_loop(b: TorchBuilder, going: Body, body: Body, carried: Sequence[Any], operands: Sequence[Any] = ()) -> tuple[SSAValue, ...]:
    """Return the carried values once `going` of them is false."""
    first = _values(b, carried)

    def step(_: SSAValue, values: Sequence[SSAValue]) -> LoopIteration:
        after = _values(b, body(*values, *operands))
        return LoopIteration(after, going=_truth(b, going(*after, *operands)))

    results, _ = loop(b, step, first, condition=_truth(b, going(*first, *operands)))
    return results


def scan(b: TorchBuilder, combine: Body, first: Sequence[Any], parts: Sequence[Any], operands: Sequence[Any] = ()) -> tuple[SSAValue, ...]:
    """Return the last carried values, then what every step gives, stacked: a step takes the carried values and one part of each tensor."""
    carried = list(_values(b, first))
    tensors = _values(b, parts)
    length = b.shape(tensors[0])[0] if tensors else 0

    def at(index: SSAValue, values: Sequence[Any]) -> tuple[list[SSAValue], list[SSAValue]]:
        taken = [b.nn("gather", x, index, axis=0) for x in tensors]
        found = _values(b, combine(*values, *taken, *operands))
        return list(found[: len(carried)]), list(found[len(carried) :])

    if not length:
        raise Unsupported("a scan of nothing")
    if length > MAX_WRITTEN_OUT:
        return sum(loop(b, lambda i, values: LoopIteration(*at(i, values)), carried, length=length), ())
    steps: list[list[SSAValue]] = []
    for index in range(length):
        carried, made = at(b.constant(np.int64(index)), carried)
        steps.append([b.reshape(x, 1, *b.shape(x)) for x in made])
    return (*carried, *(b.nn("concat", *column, axis=0) for column in zip(*steps, strict=True)))


def _values(b: TorchBuilder, found: Any) -> tuple[SSAValue, ...]:
    """Return the tensors that a body gives; numbers as constants.  Raises Unsupported if a node of the body was refused."""
    values = flat(found)
    if holds_refused(values):
        raise Unsupported("its body cannot be imported")
    if not all(isinstance(x, SSAValue | bool | int | float) for x in values):
        raise Unsupported("values that are no tensors or known numbers")
    return tuple(x if isinstance(x, SSAValue) else b.constant(x) for x in values)


def _truth(b: TorchBuilder, found: Any) -> SSAValue:
    (value,) = _values(b, found)
    return b.cast(b.reshape(value), np.dtype(bool))


ROWS: Rows = {"higher_order.cond": cond, "higher_order.while_loop": while_loop, "higher_order.scan": scan}

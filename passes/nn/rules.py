"""What a local rule of canonicalization is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.passes.base import Rewriter
from ttc.passes.nn.match import shape_of

Build: TypeAlias = Callable[[Rewriter], SSAValue]
"""Makes the value that takes the place of an op's only result."""

Check: TypeAlias = Callable[[Any, WeightStore], Build | None]


@record
class RewriteRule:
    """One local rewrite of an op with one result.

    Args:
        name: by which instruments can refuse it.
        kinds: ops it looks at.
        check: gives what to build in the op's place; None where the rule does not apply.
    """

    name: str
    kinds: tuple[type[Operation], ...]
    check: Check


def become(value: SSAValue) -> Build:
    """Return what replaces an op by a value that exists already."""
    return lambda _: value


def same_type(op: Operation, value: SSAValue) -> Build | None:
    """Return what replaces an op by a value that exists already, provided the value is of the type of the op's result."""
    return become(value) if value.type == op.results[0].type else None


def static(value: SSAValue) -> bool:
    """Return whether all dimensions are known."""
    return min(shape_of(value), default=1) >= 0

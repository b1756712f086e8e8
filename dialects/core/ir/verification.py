"""Verification: structure, types, attributes, the rules of ops, and dominance, which xDSL does not check."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import builtin, func
from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import TtcOp, excerpt, neighbours
from ttc.dialects.core.ir.declared import is_declared
from ttc.dialects.core.ir.locations import where


def verify(module: Operation) -> None:
    """Check structure, types, attributes and dominance.  Raises E0302, E0303, or the code of the op's own rule."""
    for problem in problems(module):
        raise problem


def problems(module: Operation) -> Iterator[Error]:
    """Yield the errors that `verify` finds, op by op; a value that is used before its definition ends the search."""
    try:
        check_dominance(module)
    except Error as error:
        yield error
        return
    for op in module.walk():
        if _holds(op):
            continue
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            cause = error.__cause__
            found = cause.at(where(op)) if isinstance(cause, Error) else Error("E0302", str(error).splitlines()[0], where=where(op))
            found.excerpt = found.excerpt or neighbours(op)
            yield found


def _holds(op: Operation) -> bool:
    """Return whether an op is as its class declares it, and as its own rule asks; False leaves it to xDSL to find out."""
    if not isinstance(op, TtcOp) or not is_declared(op):
        return False
    try:
        op.check()
    except VerifyException:
        return False
    return True


_BODIES = builtin.ModuleOp, func.FuncOp
"""Ops whose region is never empty."""


def check_dominance(module: Operation) -> None:
    """Every operand is defined before it is used, in the same block or an enclosing one that the op may see.

    Raises E0303; E0302 for a region of several blocks, which nothing here branches between, and a module or function without any.
    """
    for region in module.regions:
        _check_region(region, set())


def _check_region(region: Region, outer: set[SSAValue]) -> None:
    parent = region.parent_op()
    if parent is not None and (region.first_block is not region.last_block or (isinstance(parent, _BODIES) and region.first_block is None)):
        raise Error("E0302", f"{parent.name} has a region of {len(region.blocks)} blocks, not of one", where=where(parent))
    for block in region.blocks:
        seen = set(outer) if region.blocks else outer
        seen.update(block.args)
        for op in block.ops:
            for operand in op.operands:
                if operand not in seen:
                    raise Error("E0303", f"{op.name} uses a value before its definition", where=where(op), excerpt=excerpt(op))
            for nested in op.regions:
                _check_region(nested, set() if _isolated(op) else seen)
            seen.update(op.results)


def _isolated(op: Operation) -> bool:
    return op.has_trait(IsolatedFromAbove)

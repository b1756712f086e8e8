"""What is accepted as its class declares it, beside what xDSL verifies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from xdsl.dialects import test
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from tests.ops.fields import OPS, TENSOR, TILE, VALUES, made
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.declared import is_declared
from ttc.dialects.core.ir.segments import SEGMENTS, read_segments, segments_attribute

BY_XDSL = {"nn.branch", "nn.row_blocks", "netlist.graph", "netlist.program", "netlist.loop"}
"""Classes that xDSL has to verify: their regions are many, or end in no op of a certain kind."""


def sample(op: type[TtcOp], number: int, *, full: bool) -> Operation:
    """An op as its class declares it, at the end of its block if it ends one; sizes of segments as ops of ours have them."""
    (found,) = [inner for inner in made(op, number, full=full).walk() if isinstance(inner, op)]
    if SEGMENTS in found.properties:
        found.properties[SEGMENTS] = segments_attribute(tuple(read_segments(found.properties[SEGMENTS])))
    if not op.has_trait(IsTerminator):
        block = found.parent
        assert block is not None
        block.add_op(test.TestOp.create())
    for taken, given in product((TENSOR, TILE), repeat=2) if not verifies(found) else ():
        for value, kind in (*((x, taken) for x in found.operands), *((x, given) for x in found.results)):
            value._type = kind  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        if verifies(found):
            break
    return found


def verifies(op: Operation) -> bool:
    """Whether xDSL accepts it by its definition, whatever its own rule says."""
    try:
        type(op).get_irdl_definition().verify(op)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    except VerifyException:
        return False
    return True


def changed(op: type[TtcOp]) -> Iterator[Operation]:
    """An op that differs from what the class declares, or may, in one thing, and in another the next time."""
    found = sample(op, 0, full=True)
    whole = dict(found.properties)
    for name, value in product(whole.keys() - {SEGMENTS} | {"unknown"}, (None, *VALUES)):
        found.properties = whole | {name: value} if value is not None else {k: v for k, v in whole.items() if k != name}
        yield found
    for full in (True, False):
        for values, kind in product(("operands", "results"), (TENSOR, TILE, VALUES[0])):
            for at in range(len(getattr(sample(op, 0, full=full), values))):
                found = sample(op, 0, full=full)
                given: SSAValue = getattr(found, values)[at]
                given._type = kind  # pyright: ignore[reportAttributeAccessIssue]
                yield found
        for more, region in product((-2, -1, 1, 2), (False, True)):
            found = sample(op, 0, full=full)
            block = found.parent
            assert block is not None
            if region:
                regions = [*found.regions]
                for held in regions:
                    found.detach_region(held)
                for held in (regions + [Region(Block()), Region(Block())])[: len(regions) + more]:
                    found.add_region(held)
            else:
                argument = block.insert_arg(TENSOR if op.name.startswith("nn.") else TILE, 0)
                found.operands = (*found.operands, argument, argument)[: max(len(found.operands) + more, 0)]
            yield found
        for blocks in (0, 2):
            found = sample(op, 0, full=full)
            for held in found.regions:
                for block in [*held.blocks][:1]:
                    held.detach_block(block)
                for _ in range(blocks):
                    held.add_block(Block())
            yield found


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_accepts_what_xdsl_accepts(op: type[TtcOp]) -> None:
    for number, full in product(range(4), (True, False)):
        found = sample(op, number, full=full)
        assert verifies(found)
        assert is_declared(found) == (op.name not in BY_XDSL)
    outcomes = set[bool]()
    for found in changed(op):
        fits = verifies(found)
        assert is_declared(found) == (fits and op.name not in BY_XDSL), (found, found.properties)
        outcomes.add(fits)
    assert False in outcomes

"""Wrong rewrites, planted into any pass: what a check of numbers and a bisection must find."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.netlist.ops import NetlistOp
from ttc.dialects.netlist.ops import YieldOp as NetlistYieldOp
from ttc.dialects.nn.unary import NegOp
from ttc.dialects.tile.eltwise import MapOp
from ttc.passes.base import Pass, Rewriter, Unit

REWRITE = "planted"


def plant(monkeypatch: pytest.MonkeyPatch, kind: type[Pass]) -> None:
    """Let a pass do what it does, and then negate the program's first result, as a rewrite of its own."""
    original: Any = kind.apply

    def apply(self: Pass, unit: Unit, rewriter: Rewriter) -> None:
        original(self, unit, rewriter)
        end, value = _result(unit)
        if rewriter.allow(REWRITE, end):
            end.operands = [_negated(rewriter, end, value), *end.operands[1:]]

    monkeypatch.setattr(kind, "apply", apply)


def plant_with(monkeypatch: pytest.MonkeyPatch, kind: type[Pass], name: str, number: int) -> None:
    """Let the so many-th rewrite of that name in a pass, counted from 1, negate the program's first result, too."""
    original: Any = kind.apply

    def apply(self: Pass, unit: Unit, rewriter: Rewriter) -> None:
        allow, asked = rewriter.allow, 0

        def damaging(rewrite: str, op: Operation, **how: bool) -> bool:
            nonlocal asked
            asked += rewrite == name
            allowed = allow(rewrite, op, **how)
            if allowed and (rewrite, asked) == (name, number):
                end, value = _result(unit)
                end.operands = [_negated(rewriter, end, value), *end.operands[1:]]
            return allowed

        rewriter.allow = damaging  # pyright: ignore[reportAttributeAccessIssue]
        original(self, unit, rewriter)

    monkeypatch.setattr(kind, "apply", apply)


def _result(unit: Unit) -> tuple[Operation, SSAValue]:
    """Where the first result of the last computation is given, and the value."""
    placed = [op for op in unit.module.walk() if isinstance(op, NetlistOp)]
    if placed:
        end = placed[-1].work.block.last_op
        assert isinstance(end, NetlistYieldOp)
    else:
        end = entry_functions(unit.module)[0].body.block.last_op
        assert isinstance(end, ReturnOp)
    return end, end.operands[0]


def _negated(rewriter: Rewriter, end: Operation, value: SSAValue) -> SSAValue:
    location = value.owner.location if isinstance(value.owner, Operation) else end.location
    if type(value.type).__name__ == "TensorType":
        op: Any = NegOp.build(value, location=location)
    else:
        op = MapOp.make((value,), {"fn": "neg"}, [value.type], location)
    return rewriter.insert(end, op).results[0]

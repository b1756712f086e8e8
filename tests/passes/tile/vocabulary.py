"""What tests of expansions share."""

from __future__ import annotations

from typing import Any

from tests.passes.tiles import Outcome, apply
from ttc.dialects.core.ir.attributes import value_text
from ttc.dialects.tile.buda import foreign
from ttc.passes.tile.expand_composites import ExpandComposites


def expand(fragment: str, tolerance: float = 1e-5, target: str = "n150") -> Outcome:
    """The fragment expanded: the same numbers, and nothing outside the vocabulary."""
    outcome = apply(ExpandComposites(), fragment, target, tolerance)
    assert [reason for op in outcome.unit.module.walk() if (reason := foreign(op)) is not None] == []
    return outcome


def one_op(name: str, operands: list[str], result: str, attrs: dict[str, Any], absent: int = 0) -> str:
    """A fragment of one op on arguments of those types, the last `absent` operands missing."""
    names = [f"%x{i}" for i in range(len(operands))]
    declared = ", ".join(f"{n}: {t}" for n, t in zip(names, operands, strict=True))
    given = ", ".join(f"{key} = {value_text(value)}" for key, value in sorted(attrs.items()))
    call = f"%y = {name}({', '.join([*names, *['_'] * absent])}) {{{given}}} : ({', '.join(operands)}) -> {result}"
    return f"({declared})\n{call}\nreturn %y : {result}"

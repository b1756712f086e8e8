"""A small unit and passes to watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from xdsl.dialects.builtin import StringAttr

from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.base import dialect
from ttc.passes.base import Pass, Rewriter, Unit

TEXT = """
func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %1 = nn.relu(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("/Relu")
  func.return %1 : tensor<2xf32>
}
"""


@dataclass(frozen=True)
class Mark(Pass):
    """Changes an attribute of the module, and says so."""

    name: ClassVar[str] = "mark"
    text: str = "marked"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        op = next(op for op in unit.module.walk() if op.name == "nn.relu")
        if rewriter.allow("mark", op):
            unit.module.attributes["mark"] = StringAttr(self.text)
            rewriter.applied(op, "marked", times=1)


@dataclass(frozen=True)
class Nothing(Pass):
    """Changes nothing."""

    name: ClassVar[str] = "nothing"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        return


@dataclass(frozen=True)
class Fail(Pass):
    """Fails."""

    name: ClassVar[str] = "fail"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        raise ValueError("failed")


@pytest.fixture
def unit() -> Unit:
    """One relu."""
    return Unit(parse_module(TEXT, "unit.mlir", [dialect]), WeightStore(), load_target("host"))


@pytest.fixture
def passes() -> dict[str, Pass]:
    """The passes by name."""
    return {p.name: p for p in (Mark(), Nothing(), Fail())}

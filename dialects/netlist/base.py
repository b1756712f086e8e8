"""Base of the ops of dialect netlist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeVar, cast

from xdsl.dialects.builtin import TensorType, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import base, region_def, traits_def
from xdsl.traits import IsolatedFromAbove, NoTerminator

from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import INT, STR
from ttc.dialects.netlist.attrs import netlist_attribute, netlist_value
from ttc.dialects.tile.base import TileType

T = TypeVar("T")
TENSOR = base(TileType) | base(TensorType)
NUMBER = INT | STR
"""An integer, or a variable as `$name`."""


def field(name: str, kind: type[T]) -> T:
    """A typed accessor of the property of that name: None while it is absent; assigning None removes it."""
    found = property(lambda op: op.get(name), lambda op, value: op.set(name, value))
    return cast("T", found)


class NetlistBase(TtcOp):
    """Base of the dialect's ops: properties as values of the model's types."""

    def get(self, name: str) -> Any:
        """A property as a value of the model; None if absent."""
        found = self.properties.get(name)
        return None if found is None else netlist_value(found)

    def set(self, name: str, value: Any) -> None:
        """Set a property from a value of the model; None removes it."""
        if value is None:
            self.properties.pop(name, None)
        else:
            self.properties[name] = netlist_attribute(value)

    def fields(self) -> dict[str, Any]:
        """All properties as values of the model."""
        return {name: netlist_value(value) for name, value in self.properties.items()}

    @classmethod
    def new(
        cls,
        attrs: dict[str, Any],
        operands: Sequence[SSAValue] = (),
        results: Sequence[Attribute] = (),
        regions: Sequence[Region] = (),
        location: Attribute | None = None,
    ) -> Self:
        """Create an op from values of the model."""
        given = {name: netlist_attribute(value) for name, value in attrs.items() if value is not None}
        return cast("Self", cls.make(operands, given, results, location or UnknownLoc(), regions))


class Container(NetlistBase):
    """An op around one block without terminator or arguments."""

    body = region_def("single_block")
    traits = traits_def(NoTerminator(), IsolatedFromAbove())

    @property
    def block(self) -> Block:
        """The block that holds what lies in the container."""
        return self.body.block

    def add(self, op: Operation) -> Any:
        """Append an op; returns it."""
        self.body.block.add_op(op)
        return op

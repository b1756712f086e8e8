"""Base of the ops of dialect netlist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeVar, cast

from xdsl.dialects.builtin import TensorType, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import base, opt_prop_def, prop_def, region_def, traits_def
from xdsl.traits import IsolatedFromAbove, NoTerminator

from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import INT, STR
from ttc.dialects.netlist.attrs import netlist_attribute, netlist_value
from ttc.dialects.tile.base import TileType

T = TypeVar("T")
TENSOR = base(TileType) | base(TensorType)
NUMBER = INT | STR
"""An integer, or a variable as `$name`."""


class PropertyField(property):
    """A property of an op, and the typed accessor of it that its class has under the field's name."""

    def __init__(self, constraint: Any, prop_name: str | None, optional: bool) -> None:
        super().__init__(lambda op: op.get(self.prop_name), lambda op, value: op.set(self.prop_name, value))
        self.constraint, self.prop_name, self.optional = constraint, prop_name, optional

    def __set_name__(self, owner: type, name: str) -> None:
        self.prop_name = self.prop_name or name

    def definition(self) -> Any:
        """Return the property as xDSL wants it defined."""
        return (opt_prop_def if self.optional else prop_def)(self.constraint, prop_name=self.prop_name)


def field(constraint: Any, kind: type[T], prop_name: str | None = None, *, optional: bool = False) -> T:
    """Return a property of an op with a typed accessor, which gives None while it is absent; assigning None removes it.

    Args:
        constraint: of the property's attribute, for xDSL.
        kind: type of its value.
        prop_name: its name in the op; by default that of the field.
        optional: whether it may be absent.
    """
    return cast("T", PropertyField(constraint, prop_name, optional))


class NetlistBase(TtcOp):
    """Base of the dialect's ops: properties as values of the model's types."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, item in [*vars(cls).items()]:
            if isinstance(item, PropertyField) and f"{name}_attr" not in vars(cls):
                setattr(cls, f"{name}_attr", item.definition())

    def get(self, name: str) -> Any:
        """Return a property as a value of the model; None if absent."""
        found = self.properties.get(name)
        return None if found is None else netlist_value(found)

    def set(self, name: str, value: Any) -> None:
        """Set a property from a value of the model; None removes it."""
        if value is None:
            self.properties.pop(name, None)
        else:
            self.properties[name] = netlist_attribute(value)

    def fields(self) -> dict[str, Any]:
        """Return all properties as values of the model."""
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

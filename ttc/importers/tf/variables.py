"""The values of variables at a place of the program, and how bodies that data chooses or repeats hand them on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf.values import TfVariable, Value

ValueT = TypeVar("ValueT", bound=Value)


def read(b: Builder, resource: Value) -> SSAValue:
    """Return what a variable holds at this place.  Raises Unsupported for what is no variable."""
    if not isinstance(resource, TfVariable):
        raise Unsupported("reads what is no variable")
    if resource.leaf is None:
        make = b.state if resource.is_set else b.initializer
        resource.leaf = resource.current = make(resource.name, resource.weight)
    assert resource.current is not None
    return resource.current


def write(b: Builder, resource: Value, value: SSAValue) -> None:
    """Give a variable another value from here on. Raises Unsupported."""
    old = b.spec(read(b, resource))
    assert isinstance(resource, TfVariable)
    if not resource.is_set:
        raise Unsupported("a variable that is set by a handle which does not say so at import")
    if b.spec(value) != old:
        raise Unsupported(f"a variable that changes from {old} to {b.spec(value)}")
    resource.current = value


class SetVariables:
    """The variables that the model sets, among operands of bodies: their values go into a body, and come out beside its results.

    Args:
        operands: all that the bodies take.
    """

    def __init__(self, b: Builder, operands: Sequence[Value]) -> None:
        found = {id(x): x for x in operands if isinstance(x, TfVariable) and x.is_set}
        self._variables = list(found.values())
        self.before = [read(b, x) for x in self._variables]
        """What they held when this was made."""

    def held(self) -> list[SSAValue]:
        """Return the values that the variables hold at this place."""
        return [x.current for x in self._variables if x.current is not None]

    def put(self, values: Sequence[Value]) -> None:
        """Let the variables hold these values from here on; what was refused leaves them as they are."""
        for variable, value in zip(self._variables, values, strict=True):
            if isinstance(value, SSAValue):
                variable.current = value

    def taken(self, values: Sequence[ValueT]) -> list[ValueT]:
        """Return the values but for those of the variables, which are the last ones, and are put into the variables."""
        count = len(values) - len(self._variables)
        self.put(values[count:])
        return list(values[:count])

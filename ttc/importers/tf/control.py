"""Calls, branches and loops: functions inlined, branches chosen at import or selected by value, iterations unrolled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import REFUSED, Refused, Unsupported
from ttc.importers.tf.messages import Call, Node
from ttc.importers.tf.values import Value

MAX_TRIPS = 4096
"""Iterations of one loop."""
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
BOOL = np.dtype(np.bool_)


class Caller(Protocol):
    """What maps functions: the walker."""

    builder: Builder

    def call(self, name: str, operands: Sequence[Value], caller: str, depth: int, *, repeated: bool) -> list[Value]: ...


@dataclass(frozen=True)
class Site:
    """A node that runs functions, on its operands.

    Args:
        name: of the node in messages and locations.
        caller, depth, repeated: of the body around it.
    """

    walker: Caller
    node: Node
    operands: Sequence[Value]
    name: str
    caller: str
    depth: int
    repeated: bool

    @property
    def b(self) -> Builder:
        """The builder, at this node: bodies leave it at their own nodes."""
        self.walker.builder.enter(self.name, (self.node.name,))
        return self.walker.builder

    def function(self, attribute: str) -> str:
        """The function that an attribute names.  Raises E0203."""
        found = self.node.attributes.get(attribute)
        if not isinstance(found, Call):
            raise Error("E0203", f"{self.node.op} has no function '{attribute}'", where=self.name)
        return found.name

    def run(self, function: str, operands: Sequence[Value], label: str = "") -> list[Value]:
        """The results of a function that may run several times, told apart by labels."""
        return self.walker.call(function, operands, f"{self.name}[{label}]" if label else self.name, self.depth + 1, repeated=True)

    def truth(self, value: Value) -> bool | None:
        """Whether a condition holds; None if that is not known at import.  Raises Unsupported."""
        if not isinstance(value, SSAValue):
            raise Unsupported("its condition is no tensor")
        known = self.b.known(value)
        if known is None or known.size != 1:
            return None
        return bool(known.any())


def call(site: Site) -> list[Value]:
    """The function's results.  Nodes keep their names where the caller's says nothing."""
    last = site.node.name.rpartition("/")[2].rstrip("0123456789_")
    caller = site.caller if last in _CALLS else site.name
    return site.walker.call(site.function("f"), site.operands, caller, site.depth + 1, repeated=site.repeated)


def if_(site: Site) -> list[Value]:
    """The branch that a known condition chooses; else both, selected by the condition where they give tensors of the same types."""
    condition, *operands = site.operands
    if isinstance(condition, Refused):
        return [REFUSED]
    chosen = site.truth(condition)
    if chosen is not None:
        return site.run(site.function("then_branch" if chosen else "else_branch"), operands)
    branches = [site.run(site.function(f"{label}_branch"), operands, label) for label in ("then", "else")]
    return selected(site, condition, *branches)


def selected(site: Site, condition: Value, first: Sequence[Value], second: Sequence[Value]) -> list[Value]:
    """Results of both branches, selected by value.  Raises Unsupported unless they are tensors of the same types."""
    found: list[Value] = []
    for x, y in zip(first, second, strict=False):
        if isinstance(x, Refused) or isinstance(y, Refused):
            found.append(REFUSED)
        elif isinstance(condition, SSAValue) and isinstance(x, SSAValue) and isinstance(y, SSAValue) and x.type == y.type:
            found.append(site.b.nn("where", site.b.reshape(site.b.cast(condition, BOOL)), x, y))
        else:
            raise Unsupported("its branches give different types, and its condition depends on data")
    return found


def case(site: Site) -> list[Value]:
    """The branch of a known index; the last one for an index outside."""
    index, *operands = site.operands
    branches = site.node.attributes.get("branches")
    if isinstance(index, Refused):
        return [REFUSED]
    if not isinstance(index, SSAValue) or not isinstance(branches, tuple) or not branches:
        raise Unsupported("its index is no tensor")
    known = site.b.known(index)
    if known is None or known.size != 1:
        raise Unsupported("its index depends on data")
    at = int(known.ravel()[0])
    return site.run(branches[at if 0 <= at < len(branches) else -1].name, operands)


def while_(site: Site) -> list[Value]:
    """Iterations while the condition holds, which must be known at import.  Raises Unsupported."""
    state: Sequence[Value] = site.operands
    for at in range(MAX_TRIPS + 1):
        if any(isinstance(x, Refused) for x in state):
            return [REFUSED]
        (condition,) = site.run(site.function("cond"), state, str(at))[:1] or (None,)
        if isinstance(condition, Refused):
            return [REFUSED]
        going = site.truth(condition)
        if going is None:
            raise Unsupported("how often it runs depends on data")
        if not going:
            return list(state)
        state = site.run(site.function("body"), state, str(at))
        if len(state) != len(site.operands):
            raise Error("E0203", "its body gives another number of values than it takes", where=site.name)
    raise Unsupported(f"more than {MAX_TRIPS} iterations")


CONTROL: Mapping[str, Callable[[Site], list[Value]]] = MappingProxyType(
    {
        **dict.fromkeys(_CALLS, call),
        **dict.fromkeys(["If", "StatelessIf"], if_),
        **dict.fromkeys(["Case", "StatelessCase"], case),
        **dict.fromkeys(["While", "StatelessWhile"], while_),
    }
)
"""Ops whose attributes are functions that run."""

"""A work that is being read: what makes each value, and which views lead from the op's inputs to the operands of its main op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, Plain, TensorType, Work
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.form import FusedOp, Tm
from ttc.dialects.netlist.buda.work.shared import ImpliedConstant, Source
from ttc.dialects.netlist.model import Op
from ttc.dialects.tile.facts import in_transit


@record(slots=True)
class Operand:
    """An operand of a Buda op.

    Args:    value: of the work.  bias: whether broadcasts reach into its tiles.  tail: TMs that the op itself implies, after its views.
             diagonal: whether the op reads its rows as diagonals of tiles.
    """

    value: int
    bias: bool = False
    tail: tuple[Tm, ...] = ()
    diagonal: bool = False


@record(slots=True)
class Parts:
    """What the main op of a work says: type of the Buda op, its operands in their order, attributes, the fused op if it is one.

    Args:    tms: of operands that are constants, by place.
    """

    type: str
    operands: tuple[Operand | ImpliedConstant, ...]
    attributes: dict[str, Plain] = field(default_factory=dict)
    fused: FusedOp | None = None
    tms: Mapping[int, tuple[Tm, ...]] = field(default_factory=dict)


@record
class Reading:
    """The work of an op, from its output back.

    Args:
        op: of the netlist.
        function: its work.
        makers: what makes each value that is no input.
        main: the work at hand.
        types: of all values.
    """

    op: Op
    function: Function
    makers: dict[int, Work]
    main: Work
    types: list[TensorType]

    @staticmethod
    def of(op: Op) -> Reading:
        """Return the reading at the work that gives the function's output.  Raises E0609 for a function without one."""
        function = op.work
        makers: dict[int, Work] = {}
        value = len(function.inputs)
        for work in function.works:
            for _ in work.results:
                makers[value] = work
                value += 1
        if len(function.outputs) != 1 or function.outputs[0] not in makers:
            raise Error("E0609", "the work does not compute one output", where=op.name)
        return Reading(op, function, makers, makers[function.outputs[0]], function.value_types)

    def at(self, value: int | None) -> Reading:
        """Return the reading of the same work at the op that makes a value.  Raises E0503 where that is an input."""
        if value is None or value not in self.makers:
            raise Error("E0503", f"Buda has no op for the work {self.main.op} on an input")
        return Reading(self.op, self.function, self.makers, self.makers[value], self.types)

    def maker(self, value: int | None) -> str:
        """Full name of what makes a value; empty for an input."""
        found = None if value is None else self.makers.get(value)
        return "" if found is None else found.op

    @property
    def result(self) -> TensorType:
        """Type of the main op's result."""
        return self.main.results[0]

    def type_of(self, value: int) -> TensorType:
        """Return the type of a value of the work."""
        return self.types[value]

    def operands(self) -> tuple[Operand, ...]:
        """Return those operands of the main op that are present."""
        return tuple(Operand(value) for value in self.main.operands if value is not None)

    def chain(self, value: int) -> tuple[Source, list[tuple[Work, TensorType]]]:
        """Return where a value comes from, and the views on the way, each with the type that it takes.

        Raises:  E0503 if another op lies on the way.
        """
        views: list[tuple[Work, TensorType]] = []
        while value in self.makers:
            work = self.makers[value]
            if work.op == "ttc.constant":
                values = work.attrs.get("values")
                return ImpliedConstant(work.results[0], np.array(list(_numbers(values)))), views[::-1]
            source = work.operands[0] if work.operands else None
            if not in_transit(work.op) or source is None:
                raise Error("E0503", f"Buda has no op that is {self.main.op} of {work.op}")
            views.append((work, self.types[source]))
            value = source
        return value, views[::-1]


Read: TypeAlias = Callable[[Reading], Parts]


def relu_said(attrs: Mapping[str, Plain]) -> dict[str, Plain]:
    """Attributes of the format that those of a tile.relu say."""
    return {"relu_en": True, "relu_mode": attrs["mode"], "relu_threshold": attrs["threshold"]}


def clipped(activation: Plain, args: Plain) -> dict[str, Plain]:
    """Return the attributes of an activation: relu, or a clip from 0 to a positive number.  Raises E0503 for others."""
    if activation is None:
        return {}
    if activation == "relu":
        return {"relu_en": True, "relu_mode": "min", "relu_threshold": 0.0}
    low, high = args if isinstance(args, tuple) and len(args) == 2 else (None, None)
    if activation != "clip" or low != 0 or not isinstance(high, int | float) or not high > 0:
        raise Error("E0503", f"Buda applies relu or a clip from 0 to a result, not {activation}")
    return {"relu_en": True, "relu_mode": "max", "relu_threshold": float(high)}


def _numbers(values: Plain) -> Iterator[int | float | bool]:
    for value in values if isinstance(values, tuple) else ():
        if isinstance(value, bool | int | float):
            yield value

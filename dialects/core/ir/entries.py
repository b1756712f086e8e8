"""Entry functions with named arguments and results, functions of derived tensors, and the module's own attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects import builtin, func
from xdsl.ir import Attribute, Block, Region, SSAValue

from ttc.dialects.core.batch_axis import OUTERMOST, BatchAxis
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import attribute, plain
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.spec import element_type
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.records import record

THEN = "ttc.then"
"""The attribute of an entry function that names the one which runs after it, once, as a part of the same program."""
INPUT_COUNT = "ttc.input_count"
"""The attribute of an entry function that says how many microbatches it takes."""
MAX_PORTS = 1 << 14
"""The most ports whose attributes are kept."""


@record
class Port:
    """An argument or result of an entry function.

    Args:
        name: as the source calls it.
        updates: for a result, the parameter or state whose new value it is.
        dtype: dtype the user sees; None: that of the value.
        streamed: where the user's array holds many microbatches, of which the value is one; None: it is the value itself.
        summed: for a result, whether it is the sum of what all microbatches give.
    """

    name: str
    updates: str | None = None
    dtype: np.dtype | None = None
    streamed: BatchAxis | None = None
    summed: bool = False

    @lru_cache(maxsize=MAX_PORTS)  # noqa: B019 - ports are small, and the same ones come up in every pass
    def attribute(self) -> builtin.DictionaryAttr:
        """Return the attribute that stands for the port in an entry function; one object a port."""
        entries: dict[str, Attribute] = {"ttc.name": builtin.StringAttr(self.name)}
        if self.updates is not None:
            entries["ttc.updates"] = builtin.StringAttr(self.updates)
        if self.dtype is not None:
            entries["ttc.dtype"] = element_type(self.dtype)
        if self.streamed is not None:
            at = self.streamed
            entries["ttc.streamed"] = builtin.UnitAttr() if at == OUTERMOST else attribute((at.axis, at.runs))
        if self.summed:
            entries["ttc.summed"] = builtin.UnitAttr()
        made = builtin.DictionaryAttr(entries)
        if len(_PORTS) >= MAX_PORTS:
            _PORTS.clear()
        _PORTS[id(made)] = made, self
        return made

    @staticmethod
    def of(entry: builtin.DictionaryAttr) -> Port:
        """Return the port that an attribute stands for.  Raises E0302."""
        known = _PORTS.get(id(entry))
        if known is not None:
            return known[1]
        data = {k: plain(v) for k, v in entry.data.items()}
        if not isinstance(data.get("ttc.name"), str):
            raise Error("E0302", "an argument or result of an entry function lacks ttc.name")
        return Port(data["ttc.name"], data.get("ttc.updates"), data.get("ttc.dtype"), _batch_axis(data), "ttc.summed" in data)


def _batch_axis(data: Mapping[str, Any]) -> BatchAxis | None:
    """Return what `ttc.streamed` says.  Raises E0302 unless it is a mark, or a dimension and the runs in it."""
    if "ttc.streamed" not in data:
        return None
    match data["ttc.streamed"]:
        case (int() as axis, int() as runs) if axis >= 0 < runs:
            return BatchAxis(axis, runs)
        case builtin.UnitAttr() | True | None:
            return OUTERMOST
        case found:
            raise Error("E0302", f"ttc.streamed is a mark, or a dimension and its runs of samples, not {found}")


_PORTS: dict[int, tuple[builtin.DictionaryAttr, Port]] = {}
"""Ports by the identity of the attribute that was made of them, which stays as long as it is here."""


def entry_functions(module: builtin.ModuleOp) -> list[func.FuncOp]:
    """The functions users can run: those that are not private."""
    return [op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_visibility is None]


def programs_of_functions(module: builtin.ModuleOp) -> list[list[func.FuncOp]]:
    """Return the entry functions by program: mostly one, else the one that takes microbatches, and the one that runs once after it.

    What the later one takes under the name of a result of the first is that result; the others are inputs of the program.
    Raises: E0302 for the name of a function that is not there, or runs after several.
    """
    named = {function.sym_name.data: function for function in entry_functions(module)}
    later: dict[str, str] = {name: plain(function.attributes[THEN]) for name, function in named.items() if THEN in function.attributes}
    known = set(later.values())
    if not known <= named.keys() - later.keys() or len(known) < len(later):
        raise Error("E0302", f"{THEN} names a function that is not there, runs after several, or is followed by another itself")
    return [[f, *([named[later[name]]] if name in later else [])] for name, f in named.items() if name not in known]


def microbatches_of(function: func.FuncOp) -> int:
    """Return how many microbatches an entry function takes."""
    return plain(function.attributes[INPUT_COUNT]) if INPUT_COUNT in function.attributes else 1


def derived_functions(module: builtin.ModuleOp) -> dict[str, func.FuncOp]:
    """Return the expressions of derived tensors, by weight key."""
    found: dict[str, func.FuncOp] = {}
    for op in module.ops:
        if isinstance(op, func.FuncOp) and "ttc.derived" in op.attributes:
            found[plain(op.attributes["ttc.derived"])] = op
    return found


def ports(function: func.FuncOp) -> tuple[list[Port], list[Port]]:
    """Arguments and results of an entry function.  Raises E0302."""
    arguments = function.arg_attrs.data if function.arg_attrs is not None else ()
    results = function.res_attrs.data if function.res_attrs is not None else ()
    kinds = function.function_type
    if len(arguments) != len(kinds.inputs.data) or len(results) != len(kinds.outputs.data):
        raise Error("E0302", f"function @{function.sym_name.data}: every argument and result needs ttc.name")
    return [Port.of(cast("Any", a)) for a in arguments], [Port.of(cast("Any", r)) for r in results]


def make_function(name: str, arguments: Sequence[tuple[Port, Attribute]], location: Attribute | None = None) -> func.FuncOp:
    """Return an entry function with its arguments and an empty body; `finish_function` closes it."""
    block = Block(arg_types=[type_ for _, type_ in arguments])
    function = func.FuncOp(name, ([t for _, t in arguments], []), Region(block))
    function.arg_attrs = builtin.ArrayAttr([port.attribute() for port, _ in arguments])
    function.location = cast("Any", location or named_location(name))
    return function


def finish_function(function: func.FuncOp, results: Sequence[tuple[Port, SSAValue]]) -> None:
    """Add the return, and set the function's result types and names."""
    function.body.block.add_op(func.ReturnOp(*[value for _, value in results]))
    function.function_type = builtin.FunctionType.from_lists(
        [a.type for a in function.body.block.args], [value.type for _, value in results]
    )
    function.res_attrs = builtin.ArrayAttr([port.attribute() for port, _ in results])


def module_attr(module: builtin.ModuleOp, name: str) -> Any:
    """Return a `ttc.<name>` attribute of the module as a plain value; None if absent."""
    value = module.attributes.get(f"ttc.{name}")
    return None if value is None else plain(value)


def set_module_attr(module: builtin.ModuleOp, name: str, value: Plain | dict[str, Any]) -> None:
    """Set a `ttc.<name>` attribute of the module; dictionaries of plain values are allowed."""
    entry = (
        builtin.DictionaryAttr({k: attribute(v) for k, v in value.items() if v is not None})
        if isinstance(value, dict)
        else attribute(value)
    )
    module.attributes[f"ttc.{name}"] = entry

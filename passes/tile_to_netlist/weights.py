"""Weights of a netlist: the archive's key for each format that a weight is used in."""

from __future__ import annotations

from dataclasses import field

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import LiteralAttr, plain
from ttc.dialects.core.ir.entries import derived_functions
from ttc.dialects.core.ir.leaves import LeafOp, ParamOp, StateOp
from ttc.dialects.core.ir.spec import tensor_type
from ttc.dialects.core.ir.to_plain import plain_type
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.core.records import record
from ttc.passes.base import Unit


def key_of(op: LeafOp) -> str:
    """Return the weight key of a leaf; a parameter or state that starts as a literal goes by its name."""
    return op.key or str(plain(op.properties["sym"]))


@record(frozen=False)
class Keys:
    """Gives leaves their keys.  As an archive holds a key in one format, a second format of a weight is a tensor derived from it."""

    unit: Unit
    formats: dict[str, str] = field(default_factory=dict)

    def of(self, op: LeafOp) -> str:
        """Return the key under which the archive holds the leaf's value in the leaf's format.  Raises E0302 for a state in two formats."""
        key = key_of(op)
        if isinstance(op.value, LiteralAttr) and key not in self.unit.weights:
            self.unit.weights.add_array(key, op.value.array)
        format_ = plain_type(op.result.type).format
        if self.formats.setdefault(key, format_) == format_:
            return key
        if isinstance(op, StateOp):
            raise Error("E0302", f"state '{key}' is used in formats {self.formats[key]} and {format_}")
        copy = f"{key}.{format_}"
        if self.formats.setdefault(copy, format_) == format_ and copy not in derived_functions(self.unit.module):
            self._derive(copy, op)
        return copy

    def _derive(self, key: str, op: LeafOp) -> None:
        """Record a tensor whose expression is the leaf alone, so that a new parameter value reaches it."""
        source = self.unit.weights[key_of(op)]
        self.unit.weights.add(key, Weight(source.shape, source.dtype, source.value, derived=True))
        type_ = tensor_type(op.value.spec)
        sym = str(plain(op.sym)) if isinstance(op, ParamOp) else None
        leaf = type(op).make([], {"value": op.value, "sym": sym}, [type_], op.location)
        block = Block([leaf, ReturnOp(leaf.results[0])])
        taken = {function.sym_name.data for function in derived_functions(self.unit.module).values()}
        name = next(name for number in range(len(taken) + 1) if (name := f"derived_{number}") not in taken)
        function = FuncOp(name, FunctionType.from_lists([], [type_]), Region(block), visibility=StringAttr("private"))
        function.attributes["ttc.derived"] = StringAttr(key)
        self.unit.module.body.block.add_op(function)

"""The adapter over xDSL: what depends on its version, and what it lacks.

Ops with plain attributes and one textual form, and printing.  Outside this file, `attributes`, `parsing`, `declared`, `verification`
and the attributes of the dialects nothing touches xDSL's parser, printer or verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from io import StringIO
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

from xdsl.dialects import builtin
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    OptPropertyDef,
    VarOperandDef,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import FLOAT, FLOATS, STRS, attribute, parse_entry, plain, value_text
from ttc.dialects.core.ir.locations import source_names, where
from ttc.dialects.core.ir.printing import ModulePrinter
from ttc.dialects.core.ir.segments import SEGMENTS, read_segments, segment_sizes, segments_attribute

_T = TypeVar("_T")
UNKNOWN = builtin.UnknownLoc()


class _Layout(NamedTuple):
    """How an op class's operands and properties are declared; worked out once a class."""

    kinds: tuple[str, ...]  # of operands: one | optional | many
    sized: bool
    floats: frozenset[str]
    float_lists: frozenset[str]
    lists: frozenset[str]
    attributes: frozenset[str]
    required: frozenset[str]  # of the attributes


@cache
def _layout(cls: type[TtcOp]) -> _Layout:
    definition = cls.get_irdl_definition()
    kinds = [
        "optional" if isinstance(operand, OptOperandDef) else "many" if isinstance(operand, VarOperandDef) else "one"
        for _, operand in definition.operands
    ]
    floats = frozenset(name for name, p in definition.properties.items() if p.constr is FLOAT)
    float_lists = frozenset(name for name, p in definition.properties.items() if p.constr is FLOATS)
    lists = frozenset(name for name, p in definition.properties.items() if p.constr is STRS)
    sized = any(isinstance(option, AttrSizedOperandSegments) for option in definition.options)
    attributes = frozenset(definition.properties) - {SEGMENTS}
    required = frozenset(name for name in attributes if not isinstance(definition.properties[name], OptPropertyDef))
    return _Layout(tuple(kinds), sized, floats, float_lists, lists, attributes, required)


class TtcOp(IRDLOperation):
    """Base of every op of ours: plain attributes, one textual form, types by inference.

    Text: `%y = nn.conv2d(%x, %w, _) {group = 1} : (tensor<..>, tensor<..>) -> tensor<..>`; `_` stands for an absent optional operand,
    a region follows the types.
    """

    EFFECT: ClassVar[bool] = False
    """Whether ops of the class do more than give results, so that they stay even where nothing reads these."""

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        location: Any = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        """Build an op as xDSL's `create` does, in half the time: no op here has successors, or attributes with defaults to look for."""
        if successors:
            raise ValueError(f"{cls.name} has no successors")
        op = cls.__new__(cls)
        if operands:
            op._operands = SSAValues(operands)
            op._operand_uses = tuple([Use(op, index) for index in range(len(operands))])
            for value, use in zip(operands, op._operand_uses, strict=True):
                value.add_use(use)
        op.results = SSAValues([OpResult(type_, op, index) for index, type_ in enumerate(result_types)])
        op.properties = {} if properties is None else dict(properties)
        op.attributes = {} if attributes is None else dict(attributes)
        op.location = UNKNOWN if location is None else location
        for region in regions:
            op.add_region(region)
        return op

    def clone(
        self,
        value_mapper: dict[SSAValue, SSAValue] | None = None,
        block_mapper: dict[Block, Block] | None = None,
        *,
        clone_name_hints: bool = True,
        clone_operands: bool = True,
    ) -> Self:
        """Copy the op with all that is in its regions, as xDSL does; one that has none takes half the time."""
        if self.regions:
            return super().clone(value_mapper, block_mapper, clone_name_hints=clone_name_hints, clone_operands=clone_operands)
        values: dict[SSAValue, SSAValue] = {} if value_mapper is None else value_mapper
        made = self.create(
            operands=[values.get(x, x) for x in self._operands] if clone_operands else (),
            result_types=[result.type for result in self.results],
            properties=self.properties,
            attributes=self.attributes,
            location=self.location,
        )
        for old, new in zip(self.results, made.results, strict=True):
            values[old] = new
            if clone_name_hints:
                new.name_hint = old.name_hint
        return made

    def verify_(self) -> None:
        self.check()

    def check(self) -> None:
        """Check what the class asks of an op whose operands, results and properties are as it declares them.

        Raises xDSL's VerifyException; its cause, if it has one, is the error to report.
        """

    @classmethod
    def inferred(cls, infer: Callable[[Any, dict[str, Any]], _T], types: object, given: dict[str, Any], location: Attribute) -> _T:
        """What `infer` says of the op's results.  Errors name the location; E0901 for attributes or operands that the op does not have."""
        layout = _layout(cls)
        try:
            if not layout.required <= given.keys() <= layout.attributes:
                unknown, missing = given.keys() - layout.attributes, layout.required - given.keys()
                fault = f"has no attribute '{min(unknown)}'" if unknown else f"is made without its attribute '{min(missing)}'"
                raise Error("E0901", f"{cls.name} {fault}")
            return infer(types, given)
        except Error as error:
            raise error.at(" + ".join(source_names(location)) or cls.name) from None
        except TypeError as error:
            place = " + ".join(source_names(location))
            raise Error("E0901", f"{cls.name} is made of operands that it does not take: {error}", place or cls.name) from error

    def plain_attrs(self) -> dict[str, Any]:
        """Properties by name as plain values; absent ones are left out."""
        return {k: plain(v) for k, v in self.properties.items() if k != SEGMENTS}

    def named_operands(self) -> list[SSAValue | None]:
        """Operands in declaration order; None for an absent optional one; variadic ones spread."""
        given: list[SSAValue | None] = [*self.operands]
        layout = _layout(type(self))
        if not layout.sized:  # one kind at most is optional or variadic
            lacking = "optional" in layout.kinds and len(given) < len(layout.kinds)
            return [*given[: (at := layout.kinds.index("optional"))], None, *given[at:]] if lacking else given
        values: list[SSAValue | None] = []
        start = 0
        for kind, size in zip(layout.kinds, read_segments(self.properties[SEGMENTS]), strict=True):
            values.extend(given[start : start + size] if size or kind == "many" else (None,))
            start += size
        return values

    @classmethod
    def make(
        cls,
        operands: Sequence[SSAValue | None],
        attrs: dict[str, Any],
        result_types: Sequence[Attribute],
        location: Attribute,
        regions: Sequence[Region] = (),
    ) -> Any:
        """Create an op from plain attributes; None attributes are left out.  Result types are taken as given."""
        layout = _layout(cls)
        properties: dict[str, Attribute] = {}
        for name, value in attrs.items():
            if value is None:
                continue
            if name in layout.floats and isinstance(value, int):
                value = float(value)
            elif name in layout.float_lists:
                value = builtin.DenseArrayBase.from_list(builtin.f64, [float(x) for x in value])
            elif name in layout.lists and isinstance(value, tuple | list) and not value:
                value = builtin.ArrayAttr(())
            properties[name] = attribute(value)
        if layout.sized:
            properties[SEGMENTS] = segments_attribute(segment_sizes(cls.name, layout.kinds, operands))
        return cls.create(
            operands=[x for x in operands if x is not None],
            result_types=result_types,
            properties=properties,
            regions=regions,
            location=cast("Any", location),
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        for index, value in enumerate(self.named_operands()):
            printer.print_string(", " if index else "")
            printer.print_string("_") if value is None else printer.print_ssa_value(value)
        printer.print_string(")")
        attrs = {k: v for k, v in self.properties.items() if k != SEGMENTS}
        if attrs:
            printer.print_string(" {")
            for index, name in enumerate(sorted(attrs)):
                printer.print_string(f"{', ' if index else ''}{name} = ")
                value = plain(attrs[name])
                printer.print_attribute(value) if isinstance(value, Attribute) else printer.print_string(value_text(value))
            printer.print_string("}")
        printer.print_string(" : (")
        printer.print_list(self.operands, lambda v: printer.print_attribute(v.type))
        printer.print_string(") -> ")
        with_parens = len(self.results) != 1
        printer.print_string("(" if with_parens else "")
        printer.print_list(self.results, lambda v: printer.print_attribute(v.type))
        printer.print_string(")" if with_parens else "")
        for region in self.regions:
            printer.print_string(" ")
            printer.print_region(region)

    @classmethod
    def parse(cls, parser: Parser) -> TtcOp:
        unresolved = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_operand(parser))
        _require_operands(parser, cls, unresolved)
        attrs: dict[str, Any] = {}
        for name, value in parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, lambda: parse_entry(parser)) or ():
            if name in attrs:
                parser.raise_error(f"attribute '{name}' is given twice")
            attrs[name] = value
        unknown = attrs.keys() - cls.get_irdl_definition().properties.keys()
        if unknown:
            parser.raise_error(f"{cls.name} has no attribute '{min(unknown)}'")
        parser.parse_punctuation(":")
        start = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        present = [x for x in unresolved if x is not None]
        if len(present) != len(types):
            parser.raise_error(f"{len(present)} operands but {len(types)} operand types", start)
        parser.parse_punctuation("->")
        results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if results is None:
            results = [parser.parse_type()]
        resolved = iter([parser.resolve_operand(x, t) for x, t in zip(present, types, strict=True)])
        operands = [None if x is None else next(resolved) for x in unresolved]
        regions: list[Region] = []
        while (region := parser.parse_optional_region()) is not None:
            regions.append(region)
        return cls.make(operands, attrs, results, builtin.UnknownLoc(), regions)


def _require_operands(parser: Parser, cls: type[TtcOp], operands: Sequence[object]) -> None:
    """Fail unless every operand that is neither optional nor variadic is given: accessors of an op without it would fail later."""
    kinds = _layout(cls).kinds
    required = [i for i, kind in enumerate(kinds[: kinds.index("many")] if "many" in kinds else kinds) if kind == "one"]
    absent = [i for i in required if i >= len(operands) or operands[i] is None]
    if absent:
        parser.raise_error(f"{cls.name} lacks operand {absent[0] + 1}")


def _parse_operand(parser: Parser) -> Any:
    if parser.parse_optional_keyword("_") is not None:
        return None
    return parser.parse_unresolved_operand()


def append(block: Block, op: TtcOp) -> None:
    """Put a new op without regions at the end of a block; xDSL would look for the op among what the block is in."""
    last = block.last_op
    op.parent = block
    if last is None:
        block._first_op = op
    else:
        op._prev_op, last._next_op = last, op
    block._last_op = op


def print_op(op: Operation, *, locations: bool = True) -> str:
    """Return the text of an op, weights elided."""
    stream = StringIO()
    ModulePrinter(stream, print_debuginfo=locations).print_op(op)
    return stream.getvalue()


def excerpt(op: Operation, limit: int = 160) -> str:
    """Return the op alone as text, shortened to one line."""
    line = print_op(op, locations=False).splitlines()[0]
    return line if len(line) <= limit else line[: limit - 3] + "..."


def surroundings(module: Operation, place: str, limit: int = 120) -> str | None:
    """Return the op at a place, as `where` names it: its text with a caret below, between the ops before and after it; None if there is no
    such op.

    limit: of characters of a line.
    """
    op = next((op for op in module.walk() if isinstance(op, TtcOp) and where(op) == place), None)
    return None if op is None else neighbours(op, limit)


def neighbours(op: Operation, limit: int = 120) -> str:
    """Return the text of an op with a caret below, between the ops before and after it.

    limit: of characters of a line.
    """
    stream = StringIO()
    printer = ModulePrinter(stream)
    lines: list[str] = []
    for neighbour in (op.prev_op, op, op.next_op):
        if neighbour is None:
            continue
        stream.seek(0)
        stream.truncate()
        printer.print_op(neighbour)
        line = stream.getvalue().splitlines()[0].strip()
        lines.append(line if len(line) <= limit else line[: limit - 3] + "...")
        if neighbour is op:
            lines.append(" " * max(line.find(op.name), 0) + "^" * len(op.name))
    return "\n".join(lines)


def is_structured(op: Operation) -> bool:
    """Return whether an op of dialect nn decides at run time which of its regions run, and how often."""
    return bool(op.regions) and op.name.startswith("nn.")


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Give a value another type in place; its uses stay."""
    value._type = type_  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def blocks_of(module: Operation) -> Iterator[Block]:
    """Yield all blocks of a module, outer ones first."""
    for op in module.walk():
        for region in op.regions:
            yield from region.blocks

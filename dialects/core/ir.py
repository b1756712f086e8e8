"""The adapter over xDSL: everything that depends on its version, and what it lacks.

Types and attributes as plain values, ops with one textual form, locations by source name, a dominance check, parsing and printing.
Nothing outside this file and the op definitions touches xDSL's parser, printer or verifier.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from io import StringIO
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import ml_dtypes
import numpy as np
from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.ir import Attribute, Block, Data, Dialect, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    VarOperandDef,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import ParseError, VerifyException

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import Plain

OpT = TypeVar("OpT", bound="TtcOp")
DYNAMIC = -1
"""A dimension whose size depends on data; printed `?`."""


class Spec(NamedTuple):
    """The type of a tensor value in dialect nn: shape in elements (DYNAMIC where data decides) and numpy dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return DYNAMIC not in self.shape

    @property
    def elements(self) -> int:
        """Number of elements of a static shape."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join('?' if d == DYNAMIC else str(d) for d in self.shape)}]"


# ---- types ---------------------------------------------------------------------------------------------------------------------

_ELEMENT_TYPES: dict[np.dtype, builtin.AnyFloat | builtin.IntegerType] = {
    np.dtype(np.float32): builtin.f32,
    np.dtype(np.float64): builtin.f64,
    np.dtype(np.float16): builtin.f16,
    np.dtype(ml_dtypes.bfloat16): builtin.bf16,
    np.dtype(np.bool_): builtin.i1,
    **{np.dtype(f"int{bits}"): builtin.IntegerType(bits) for bits in (8, 16, 32, 64)},
    **{np.dtype(f"uint{bits}"): builtin.IntegerType(bits, builtin.Signedness.UNSIGNED) for bits in (8, 16, 32, 64)},
}
_DTYPES: dict[Attribute, np.dtype] = {type_: dtype for dtype, type_ in _ELEMENT_TYPES.items()}


def element_type(dtype: np.dtype) -> builtin.AnyFloat | builtin.IntegerType:
    """The IR element type of a numpy dtype.  Raises E0403."""
    found = _ELEMENT_TYPES.get(np.dtype(dtype))
    if found is None:
        raise Error("E0403", f"tensors of {dtype} are not supported")
    return found


@cache
def tensor_type(spec: Spec) -> builtin.TensorType:
    """The builtin tensor type of a spec; one object a spec."""
    return builtin.TensorType(element_type(spec.dtype), [builtin.DYNAMIC_INDEX if d == DYNAMIC else d for d in spec.shape])


@cache
def spec_of(type_: Attribute) -> Spec:
    """The spec of a builtin tensor type.  Raises E0302."""
    if isinstance(type_, builtin.TensorType):
        dtype = _DTYPES.get(type_.element_type)
        if dtype is not None:
            return Spec(tuple(DYNAMIC if d == builtin.DYNAMIC_INDEX else d for d in type_.get_shape()), dtype)
    raise Error("E0302", f"{type_} is not a tensor type of dialect nn")


# ---- attributes ----------------------------------------------------------------------------------------------------------------

INT = builtin.IntegerAttr.constr(builtin.i64)
BOOL = builtin.IntegerAttr.constr(builtin.i1)
FLOAT = base(builtin.FloatAttr)
STR = base(builtin.StringAttr)
INTS = builtin.DenseArrayBase.constr(builtin.i64)
FLOATS = builtin.DenseArrayBase.constr(builtin.f64)
STRS = base(builtin.ArrayAttr)
DTYPE = (
    base(builtin.IntegerType)
    | base(builtin.Float16Type)
    | base(builtin.Float32Type)
    | base(builtin.Float64Type)
    | base(builtin.BFloat16Type)
)
"""Constraints for `prop_def`: an op's attributes are of these kinds, seen as int, bool, float, str, tuples of them, or numpy dtype."""


@cache
def _int_attr(value: int) -> Attribute:
    return builtin.IntegerAttr(value, builtin.i64)


def attribute(value: object) -> Attribute:
    """The attribute that holds a plain value.  Raises E0302."""
    match value:
        case Attribute():
            return value
        case bool():
            return builtin.IntegerAttr.from_bool(value)
        case int() | np.integer():
            return _int_attr(int(value))
        case float() | np.floating():
            return builtin.FloatAttr(float(value), builtin.f64)
        case str():
            return builtin.StringAttr(value)
        case np.dtype():
            return element_type(value)
        case tuple() | list():
            return _sequence_attribute(list(value))
        case _:
            raise Error("E0302", f"{value!r} cannot be an attribute")


def _sequence_attribute(items: list[Any]) -> Attribute:
    if all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in items):
        return builtin.DenseArrayBase.from_list(builtin.i64, [int(x) for x in items])
    if all(isinstance(x, float) for x in items):
        return builtin.DenseArrayBase.from_list(builtin.f64, items)
    return builtin.ArrayAttr([attribute(x) for x in items])


def plain(value: Attribute) -> Any:
    """The plain value of an attribute: int, bool, float, str, tuple, numpy dtype; other attributes as they are."""
    match value:
        case builtin.IntegerAttr():
            return bool(value.value.data) if value.type == builtin.i1 else value.value.data
        case builtin.FloatAttr():
            return value.value.data
        case builtin.StringAttr():
            return value.data
        case builtin.DenseArrayBase():
            return tuple(cast("Any", value).get_values())
        case builtin.ArrayAttr():
            return tuple(plain(x) for x in value.data)
        case builtin.DictionaryAttr():
            return {k: plain(v) for k, v in value.data.items()}
        case _:
            return _DTYPES.get(value, value)


@irdl_attr_definition
class WeightAttr(ParametrizedAttribute):
    """`#ttc.weight<"key", type>`: a tensor of the session's weight store."""

    name = "ttc.weight"
    key: builtin.StringAttr
    type: Attribute

    @staticmethod
    def of(key: str, spec: Spec) -> WeightAttr:
        return WeightAttr(builtin.StringAttr(key), tensor_type(spec))

    @property
    def spec(self) -> Spec:
        return spec_of(self.type)


class Literal(NamedTuple):
    """The value of a literal: numbers in row-major order, and the tensor's type."""

    values: tuple[int | float | bool, ...]
    spec: Spec


@irdl_attr_definition
class LiteralAttr(Data[Literal]):
    """`#ttc.literal<[0.5], tensor<f32>>`: a small tensor written out."""

    name = "ttc.literal"
    MAX_ELEMENTS: ClassVar[int] = 16

    @staticmethod
    def of(array: np.ndarray) -> LiteralAttr:
        values = array.ravel().tolist() if array.dtype.kind in "iub" else [_shortest(x) for x in array.ravel()]
        return LiteralAttr(Literal(tuple(values), Spec(array.shape, array.dtype)))

    @property
    def array(self) -> np.ndarray:
        """The value, of the literal's dtype and shape."""
        return np.array(self.data.values).astype(self.data.spec.dtype).reshape(self.data.spec.shape)

    @property
    def spec(self) -> Spec:
        return self.data.spec

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(value_text(self.data.values))
            printer.print_string(", ")
            printer.print_attribute(tensor_type(self.data.spec))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Literal:
        with parser.in_angle_brackets():
            values = cast("tuple[int | float | bool, ...]", parse_value(parser))
            parser.parse_punctuation(",")
            spec = spec_of(parser.parse_type())
        if not isinstance(values, tuple) or len(values) != spec.elements or len(values) > cls.MAX_ELEMENTS:
            parser.raise_error(f"a literal of {spec} takes {spec.elements} values, at most {cls.MAX_ELEMENTS}")
        convert = {"f": float, "V": float, "b": bool}.get(spec.dtype.kind, int)
        return Literal(tuple(convert(v) for v in values), spec)


def _shortest(value: np.generic) -> float:
    """The float with the fewest digits that rounds to a value of a narrower type."""
    return float(value) if value.dtype == np.float64 else float(str(value.astype(np.float32)))


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\v": "\\0B", "\f": "\\0C"})


def value_text(value: object) -> str:
    """A plain value as `parse_value` reads it."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            text = repr(value)
            return "ninf" if text == "-inf" else text if "." in text or "n" in text else text.replace("e", ".0e")
        case tuple():
            return "[" + ", ".join(value_text(x) for x in value) + "]"
        case str():
            return '"' + value.translate(_ESCAPES) + '"'
        case np.dtype():
            return str(element_type(value))
        case _:
            return str(value)


_WORDS = {"true": True, "false": False, "inf": float("inf"), "ninf": float("-inf"), "nan": float("nan")}


def parse_value(parser: AttrParser) -> Any:
    """Parse a plain value as the printer writes it: numbers, true, false, inf, ninf, nan, strings, lists, element types, attributes."""
    if parser.parse_optional_characters("[") is not None:
        items: list[Any] = []
        while parser.parse_optional_characters("]") is None:
            if items:
                parser.parse_characters(",")
            items.append(parse_value(parser))
        return tuple(items)
    for word, value in _WORDS.items():
        if parser.parse_optional_keyword(word) is not None:
            return value
    number = parser.parse_optional_number()
    if number is not None:
        return number
    text = parser.parse_optional_str_literal()
    if text is not None:
        return text
    type_ = parser.parse_optional_type()
    return plain(type_ if type_ is not None else parser.parse_attribute())


# ---- locations -----------------------------------------------------------------------------------------------------------------


def named_location(name: str) -> Attribute:
    """The location of an op that came from the source object of that name."""
    return builtin.NameLoc(builtin.StringAttr(name), builtin.NoneAttr())


def fused_location(locations: Iterable[Attribute]) -> Attribute:
    """One location for an op that replaces several: their source names, each once, in order."""
    names = list(dict.fromkeys(name for location in locations for name in source_names(location)))
    if not names:
        return builtin.UnknownLoc()
    if len(names) == 1:
        return named_location(names[0])
    return builtin.FusedLoc(builtin.ArrayAttr([named_location(name) for name in names]), builtin.NoneAttr())


def source_names(location: Attribute) -> tuple[str, ...]:
    """The source names a location holds: node names, or `file:line`."""
    match location:
        case builtin.NameLoc():
            return (location.desc.data,)
        case builtin.FusedLoc():
            return tuple(name for part in cast("builtin.ArrayAttr", location.locations).data for name in source_names(part))
        case builtin.FileLineColLoc():
            return (f"{location.filename.data}:{location.line.data}",)
        case builtin.CallSiteLoc():
            return source_names(location.callee)
        case _:
            return ()


def where(op: Operation) -> str:
    """The op's source names, for messages; its own name if it has none."""
    names = source_names(op.location)
    return f"{names[0]}{f' (+{len(names) - 1})' if len(names) > 1 else ''}" if names else op.name


# ---- ops -----------------------------------------------------------------------------------------------------------------------


class _Layout(NamedTuple):
    """How an op class's operands and properties are declared; worked out once a class."""

    operands: tuple[tuple[str, str], ...]  # (name, one | optional | many)
    sized: bool
    floats: frozenset[str]
    float_lists: frozenset[str]


@cache
def _layout(cls: type[TtcOp]) -> _Layout:
    definition = cls.get_irdl_definition()
    kinds: list[tuple[str, str]] = []
    for name, operand in definition.operands:
        kind = "optional" if isinstance(operand, OptOperandDef) else "many" if isinstance(operand, VarOperandDef) else "one"
        kinds.append((name, kind))
    floats = frozenset(name for name, p in definition.properties.items() if p.constr is FLOAT)
    float_lists = frozenset(name for name, p in definition.properties.items() if p.constr is FLOATS)
    sized = any(isinstance(option, AttrSizedOperandSegments) for option in definition.options)
    return _Layout(tuple(kinds), sized, floats, float_lists)


class TtcOp(IRDLOperation):
    """Base of every op of ours: plain attributes, one textual form, types by inference.

    Text: `%y = nn.conv2d(%x, %w, _) {group = 1} : (tensor<..>, tensor<..>) -> tensor<..>`; `_` stands for an absent optional operand,
    a region follows the types.
    """

    def plain_attrs(self) -> dict[str, Any]:
        """Properties by name as plain values; absent ones are left out."""
        return {k: plain(v) for k, v in self.properties.items() if k != "operandSegmentSizes"}

    def named_operands(self) -> list[SSAValue | None]:
        """Operands in declaration order; None for an absent optional one; variadic ones spread."""
        values: list[SSAValue | None] = []
        for name, kind in _layout(type(self)).operands:
            value = getattr(self, name)
            values.extend(value if kind == "many" else (value,))
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
            properties[name] = attribute(value)
        if layout.sized:
            properties["operandSegmentSizes"] = builtin.DenseArrayBase.from_list(builtin.i32, _segments(cls, layout, operands))
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
        attrs = {k: v for k, v in self.properties.items() if k != "operandSegmentSizes"}
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
        for name, value in parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_entry(parser)) or ():
            if name in attrs:
                parser.raise_error(f"attribute '{name}' is given twice")
            attrs[name] = value
        unknown = attrs.keys() - cls.get_irdl_definition().properties.keys()
        if unknown:
            parser.raise_error(f"{cls.name} has no attribute '{min(unknown)}'")
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        parser.parse_punctuation("->")
        results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if results is None:
            results = [parser.parse_type()]
        present = [x for x in unresolved if x is not None]
        if len(present) != len(types):
            parser.raise_error(f"{len(present)} operands but {len(types)} operand types")
        resolved = iter([parser.resolve_operand(x, t) for x, t in zip(present, types, strict=True)])
        operands = [None if x is None else next(resolved) for x in unresolved]
        regions: list[Region] = []
        while (region := parser.parse_optional_region()) is not None:
            regions.append(region)
        return cls.make(operands, attrs, results, builtin.UnknownLoc(), regions)


def collect_ops(package: ModuleType, dialect: str, kind: type[OpT]) -> dict[str, type[OpT]]:
    """The ops of a dialect by mnemonic: classes of that kind with a name, defined in the modules of its package."""
    found: dict[str, type[OpT]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.ispkg:
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, kind) and item.__module__ == module.__name__:
                name = vars(item).get("name")
                if isinstance(name, str) and name.startswith(f"{dialect}."):
                    found[name.removeprefix(f"{dialect}.")] = item
    return found


def _segments(cls: type[TtcOp], layout: _Layout, operands: Sequence[SSAValue | None]) -> list[int]:
    extra = len(operands) - len(layout.operands)
    sizes: list[int] = []
    index = 0
    for _, kind in layout.operands:
        if kind == "many":
            sizes.append(extra + 1)
            index += extra + 1
            continue
        if index >= len(operands):
            raise Error("E0302", f"{cls.name} takes {len(layout.operands)} operands, '_' for an absent one")
        sizes.append(0 if operands[index] is None else 1)
        index += 1
    return sizes


def _require_operands(parser: Parser, cls: type[TtcOp], operands: Sequence[object]) -> None:
    """Fail unless every operand that is neither optional nor variadic is given: accessors of an op without it would fail later."""
    kinds = [kind for _, kind in _layout(cls).operands]
    required = [i for i, kind in enumerate(kinds[: kinds.index("many")] if "many" in kinds else kinds) if kind == "one"]
    absent = [i for i in required if i >= len(operands) or operands[i] is None]
    if absent:
        parser.raise_error(f"{cls.name} lacks operand {absent[0] + 1}")


def _parse_operand(parser: Parser) -> Any:
    if parser.parse_optional_keyword("_") is not None:
        return None
    return parser.parse_unresolved_operand()


def _parse_entry(parser: Parser) -> tuple[str, Any]:
    name = parser.parse_identifier()
    parser.parse_punctuation("=")
    return name, parse_value(parser)


# ---- leaves: ops of dialect ttc, shared by nn and tile ---------------------------------------------------------------------------


class LeafOp(TtcOp):
    """A value that is not computed: no operands, one result."""

    value = prop_def(base(WeightAttr) | base(LiteralAttr))
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        shape = getattr(self.result.type, "get_shape", lambda: None)()
        if shape is not None and tuple(shape) != self.value.spec.shape:
            raise VerifyException(f"the value is {self.value.spec} but the result is {self.result.type}")

    @property
    def key(self) -> str | None:
        """The weight's key; None for a literal."""
        return self.value.key.data if isinstance(self.value, WeightAttr) else None


@irdl_op_definition
class ConstantOp(LeafOp):
    """A constant: a weight of the store, or a small literal.

    Returns: result: a tensor of the value's shape; in dialect tile in the format that the op border asks for.
    """

    name = "ttc.constant"


@irdl_op_definition
class ParamOp(LeafOp):
    """A parameter by its name: a value that may be replaced (and its derived tensors computed anew) without compiling again."""

    name = "ttc.param"
    sym = prop_def(STR)


@irdl_op_definition
class StateOp(LeafOp):
    """The value a state has when the function is entered; `value` is the one it starts with."""

    name = "ttc.state"
    sym = prop_def(STR)


CORE = Dialect("ttc", [ConstantOp, ParamOp, StateOp], [WeightAttr, LiteralAttr])


# ---- modules -------------------------------------------------------------------------------------------------------------------


def context(dialects: Iterable[Callable[[], Dialect]] = ()) -> Context:
    """A context that parses builtin, func, ttc and the dialects given (as factories)."""
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, CORE):
        ctx.load_dialect(dialect)
    for factory in dialects:
        ctx.load_dialect(factory())
    return ctx


def parse_module(text: str, name: str, dialects: Iterable[Callable[[], Dialect]] = ()) -> builtin.ModuleOp:
    """Parse IR text.  name: of the file, for messages.  Raises E0301."""
    try:
        return Parser(context(dialects), text, name).parse_module()
    except ParseError as error:
        before = text[: error.span.start]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise Error("E0301", error.msg, where=f"{name}:{line}:{column}", excerpt=text.splitlines()[line - 1][:160]) from error
    except (VerifyException, ValueError, KeyError, AttributeError, IndexError, OverflowError, TypeError) as error:
        raise Error("E0301", f"{type(error).__name__}: {error}", where=name) from error
    except RecursionError:
        raise Error("E0301", "the IR nests too deeply", where=name) from None


class _Printer(Printer):
    """Prints strings as text: xDSL would write what is not ASCII as escaped bytes, which its parser reads as bytes, not as text."""

    def print_string_literal(self, string: str) -> None:
        self.print_string(value_text(string))


def print_op(op: Operation, *, locations: bool = True) -> str:
    """The text of an op, weights elided."""
    stream = StringIO()
    _Printer(stream, print_debuginfo=locations).print_op(op)
    return stream.getvalue()


def verify(module: Operation) -> None:
    """Check structure, types, attributes and dominance.  Raises E0302, E0303, or the code of the op's own rule."""
    check_dominance(module)
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            cause = error.__cause__
            if isinstance(cause, Error):
                raise cause.at(where(op)) from None
            raise Error("E0302", str(error).splitlines()[0], where=where(op), excerpt=excerpt(op)) from None


def excerpt(op: Operation, limit: int = 160) -> str:
    """The op alone as text, shortened to one line."""
    line = print_op(op, locations=False).splitlines()[0]
    return line if len(line) <= limit else line[: limit - 3] + "..."


def check_dominance(module: Operation) -> None:
    """Every operand is defined before it is used, in the same block or an enclosing one that the op may see.  Raises E0303."""
    for region in module.regions:
        _check_region(region, set())


def _check_region(region: Region, outer: set[SSAValue]) -> None:
    for block in region.blocks:
        seen = set(outer) if region.blocks else outer
        seen.update(block.args)
        for op in block.ops:
            for operand in op.operands:
                if operand not in seen:
                    raise Error("E0303", f"{op.name} uses a value before its definition", where=where(op), excerpt=excerpt(op))
            for nested in op.regions:
                _check_region(nested, set() if _isolated(op) else seen)
            seen.update(op.results)


def _isolated(op: Operation) -> bool:
    return op.has_trait(IsolatedFromAbove)


# ---- functions -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Port:
    """An argument or result of an entry function.

    Args:
        name: as the source calls it.
        updates: for a result, the parameter or state whose new value it is.
        dtype: dtype the user sees; None: that of the value.
        streamed: whether the user's array holds many microbatches along dimension 0, of which the value is one.
    """

    name: str
    updates: str | None = None
    dtype: np.dtype | None = None
    streamed: bool = False

    def attribute(self) -> builtin.DictionaryAttr:
        entries: dict[str, Attribute] = {"ttc.name": builtin.StringAttr(self.name)}
        if self.updates is not None:
            entries["ttc.updates"] = builtin.StringAttr(self.updates)
        if self.dtype is not None:
            entries["ttc.dtype"] = element_type(self.dtype)
        if self.streamed:
            entries["ttc.streamed"] = builtin.UnitAttr()
        return builtin.DictionaryAttr(entries)

    @staticmethod
    def of(entry: builtin.DictionaryAttr) -> Port:
        data = {k: plain(v) for k, v in entry.data.items()}
        if not isinstance(data.get("ttc.name"), str):
            raise Error("E0302", "an argument or result of an entry function lacks ttc.name")
        return Port(data["ttc.name"], data.get("ttc.updates"), data.get("ttc.dtype"), "ttc.streamed" in data)


def entry_functions(module: builtin.ModuleOp) -> list[func.FuncOp]:
    """The functions users can run: those that are not private."""
    return [op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_visibility is None]


def derived_functions(module: builtin.ModuleOp) -> dict[str, func.FuncOp]:
    """The expressions of derived tensors, by weight key."""
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
    """An entry function with its arguments and an empty body; `finish_function` closes it."""
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
    """A `ttc.<name>` attribute of the module as a plain value; None if absent."""
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


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Give a value another type in place; its uses stay."""
    value._type = type_  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def blocks_of(module: Operation) -> Iterator[Block]:
    """All blocks, outer first."""
    for op in module.walk():
        for region in op.regions:
            yield from region.blocks

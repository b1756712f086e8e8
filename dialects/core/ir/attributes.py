"""Attributes as plain values: numbers, texts, lists and dtypes; the attributes of weights and literals; their text."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import pack, unpack
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from xdsl.dialects import builtin
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import (
    base,
    irdl_attr_definition,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.spec import _DTYPES, Spec, StringType, element_type, spec_of, tensor_type
from ttc.dialects.core.shown import ir_escaped

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
    | base(builtin.Float8E4M3FNType)
    | base(builtin.Float8E4M3FNUZType)
    | base(builtin.Float8E5M2Type)
    | base(builtin.Float8E5M2FNUZType)
    | base(builtin.Float8E8M0FNUType)
    | base(builtin.Float4E2M1FNType)
    | base(StringType)
)
"""Constraints for `prop_def`: an op's attributes are of these kinds, seen as int, bool, float, str, tuples of them, or numpy dtype."""


def attribute(value: object) -> Attribute:
    """Return the attribute that holds a plain value; one object a value, as far as values are small.  Raises E0302."""
    kind = type(value)
    if kind is tuple or kind is list:
        items = tuple(cast("tuple[Any, ...]", value))
        kinds = tuple(map(type, items))
        return _cached(kinds, items) if len(items) <= MAX_CACHED and _CACHED.issuperset(kinds) else _made(items)
    if kind is float:
        return _float(pack("<d", value))
    return _cached((kind,), value) if kind in _CACHED else _made(value)


_CACHED = frozenset((bool, int, str))
"""Floats are none of them, as 0.0 and -0.0 are equal: they are kept by their bytes."""
MAX_CACHED = 32
"""The longest list whose attribute is kept, so that equal lists share one object."""


@lru_cache(maxsize=1 << 16)
def _cached(kinds: tuple[type, ...], value: object) -> Attribute:
    """kinds: of the value or its items, since 1, 1.0 and True are equal."""
    return _made(value)


@lru_cache(maxsize=1 << 12)
def _float(value: bytes) -> Attribute:
    return builtin.FloatAttr(*unpack("<d", value), builtin.f64)


def _made(value: object) -> Attribute:
    match value:
        case Attribute():
            return value
        case None:
            return builtin.NoneAttr()
        case bool():
            return builtin.IntegerAttr.from_bool(value)
        case int() | np.integer():
            return builtin.IntegerAttr(int(value), builtin.i64)
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
    """Return the plain value of an attribute: None, int, bool, float, str, tuple, numpy dtype; other attributes as they are."""
    read = _READERS.get(type(value))
    return _DTYPES.get(value, value) if read is None else read(value)


def _plain_integer(value: Any) -> int | bool:
    number = value.value.data
    return number if value.type is builtin.i64 or value.type != builtin.i1 else bool(number)


_READERS: dict[type, Callable[[Any], Any]] = {
    builtin.NoneAttr: lambda value: None,  # attributes of modules print this one and parse as the next
    builtin.NoneType: lambda value: None,
    builtin.IntegerAttr: _plain_integer,
    builtin.FloatAttr: lambda value: value.value.data,
    builtin.StringAttr: lambda value: value.data,
    builtin.DenseArrayBase: lambda value: tuple(value.get_values()),
    builtin.ArrayAttr: lambda value: tuple(map(plain, value.data)),
    builtin.DictionaryAttr: lambda value: {k: plain(v) for k, v in value.data.items()},
}


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
    """The value of a literal: numbers or texts in row-major order, and the tensor's type."""

    values: tuple[int | float | bool | str, ...]
    spec: Spec


@irdl_attr_definition
class LiteralAttr(Data[Literal]):
    """`#ttc.literal<[0.5], tensor<f32>>`: a small tensor written out."""

    name = "ttc.literal"
    MAX_ELEMENTS: ClassVar[int] = 16
    MAX_TEXTS: ClassVar[int] = 1 << 16
    """The most elements of a literal of text, which always stands in the IR as no weight can hold it."""

    @staticmethod
    def of(array: np.ndarray) -> LiteralAttr:
        values = array.ravel().tolist() if array.dtype.kind in "iubO" else [_shortest(x) for x in array.ravel()]
        return LiteralAttr(Literal(tuple(values), Spec(array.shape, array.dtype)))

    @property
    def array(self) -> np.ndarray:
        """The value, of the literal's dtype and shape."""
        exact = self.data.spec.dtype.kind in "iuO"  # numpy makes floats of integers that no type of its own holds together
        made = np.array(self.data.values, object if exact else None)
        return made.astype(self.data.spec.dtype).reshape(self.data.spec.shape)

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
            values = cast("tuple[int | float | bool | str, ...]", parse_value(parser))
            parser.parse_punctuation(",")
            spec = spec_of(parser.parse_type())
        most = cls.MAX_TEXTS if spec.dtype == STRING else cls.MAX_ELEMENTS
        if not isinstance(values, tuple) or len(values) != spec.elements or len(values) > most:
            parser.raise_error(f"a literal of {spec} takes {spec.elements} values, at most {most}")
        if any(isinstance(v, str) != (spec.dtype == STRING) for v in values):
            parser.raise_error(f"a literal of {spec} takes {'texts' if spec.dtype == STRING else 'numbers'}")
        if spec.dtype == STRING:
            return Literal(values, spec)
        convert = {"f": float, "V": float, "b": bool}.get(spec.dtype.kind, int)
        return Literal(tuple(convert(v) for v in values), spec)


def _shortest(value: np.generic) -> float:
    """Return the float with the fewest digits that rounds to a value of a narrower type."""
    return float(value) if value.dtype == np.float64 else float(str(value.astype(np.float32)))


def value_text(value: object) -> str:
    """Return a plain value as `parse_value` reads it."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case float():
            text = repr(value)
            return "ninf" if text == "-inf" else text if "." in text or "n" in text else text.replace("e", ".0e")
        case tuple():
            return "[" + ", ".join(value_text(x) for x in value) + "]"
        case str():
            return f'"{ir_escaped(value)}"'
        case np.dtype():
            return str(element_type(value))
        case _:
            return str(value)


_WORDS = {"none": None, "true": True, "false": False, "inf": float("inf"), "ninf": float("-inf"), "nan": float("nan")}


def parse_value(parser: AttrParser) -> Any:
    """Parse a plain value as the printer writes it: numbers, words (`_WORDS`), strings, lists, element types, attributes."""
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


def parse_entry(parser: AttrParser) -> tuple[str, Any]:
    """Parse a name and its value, `row = 0`."""
    name = parser.parse_identifier()
    parser.parse_punctuation("=")
    return name, parse_value(parser)

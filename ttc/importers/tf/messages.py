"""TensorFlow's protobuf messages as this importer needs them, parsed lazily: a node's attributes when they are asked for.

Field numbers are those of tensorflow/core/framework (graph, node_def, attr_value, function, op_def, tensor, tensor_shape) and
tensorflow/core/protobuf (saved_model, meta_graph, saver).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property
from struct import Struct
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.importers.common.protobuf import BYTES, FIXED32, FIXED64, VARINT, Buffer, Field, fields, read_varint

KIND = "a TensorFlow model"
MAX_TEXT_BYTES = 1 << 16
"""The most bytes of a name."""
MAX_NODES = 1_000_000
"""The most nodes of a graph and all its functions."""
MAX_LIST = 1 << 20
"""The most entries of one attribute."""

Made = TypeVar("Made")
Dims: TypeAlias = "tuple[int, ...] | None"
"""The sizes of a shape, -1 where one is open; None if not even the rank is known."""
_FLOAT = Struct("<f")


@record
class Span:
    """A serialized message: the bytes data[start:end]."""

    data: Buffer
    start: int
    end: int

    def __iter__(self) -> Iterator[Field]:
        return fields(self.data, self.start, self.end, KIND)

    def inside(self, item: Field) -> Span:
        """Return the message or bytes that a field holds.  Raises E0201."""
        if item.wire != BYTES:
            raise Error("E0201", f"not {KIND}, or a damaged one: field {item.number} at byte {item.start} is no message")
        return Span(self.data, item.content, item.end)

    def bytes(self) -> bytes:
        return bytes(self.data[self.start : self.end])

    def text(self) -> str:
        """Return the text. Raises E0201 if it is too long or not UTF-8."""
        if self.end - self.start > MAX_TEXT_BYTES:
            raise Error("E0201", f"not {KIND}, or a damaged one: a name of {self.end - self.start} bytes")
        try:
            return self.bytes().decode()
        except UnicodeDecodeError as error:
            raise Error("E0201", f"not {KIND}, or a damaged one: a name is not UTF-8") from error

    def number(self, item: Field) -> int:
        """Return the signed number of 64 bits that a field holds.  Raises E0201."""
        if item.wire != VARINT:
            raise Error("E0201", f"not {KIND}, or a damaged one: field {item.number} at byte {item.start} is no number")
        return signed(read_varint(self.data, item.content, item.end, KIND)[0])

    def real(self, item: Field) -> float:
        """Return the number of 32 bits in floating point that a field holds.  Raises E0201."""
        if item.wire != FIXED32:
            raise Error("E0201", f"not {KIND}, or a damaged one: field {item.number} at byte {item.start} is no float")
        return _FLOAT.unpack_from(self.data, item.content)[0]


def signed(value: int) -> int:
    """Return a number of 64 bits as two's complement."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def packed_numbers(span: Span, item: Field) -> Iterator[int]:
    """Yield the numbers of a repeated field, packed or one by one."""
    if item.wire == VARINT:
        yield span.number(item)
        return
    inner, at = span.inside(item), item.content
    while at < inner.end:
        value, at = read_varint(span.data, at, inner.end, KIND)
        yield signed(value)


def packed_reals(span: Span, item: Field, layout: Struct = _FLOAT) -> Iterator[float]:
    """Yield the numbers of a repeated field in floating point, packed or one by one."""
    if item.wire in (FIXED32, FIXED64) and item.end - item.content == layout.size:
        yield layout.unpack_from(span.data, item.content)[0]
        return
    inner = span.inside(item)
    if (inner.end - inner.start) % layout.size:
        raise Error("E0201", f"not {KIND}, or a damaged one: the floats at byte {item.start} are cut off")
    for at in range(inner.start, inner.end, layout.size):
        yield layout.unpack_from(span.data, at)[0]


# ---- shapes, attributes --------------------------------------------------------------------------------------------------------------


def shape_of(span: Span) -> Dims:
    """Return the dimensions that a TensorShapeProto says; None for an open rank."""
    dims: list[int] = []
    for item in span:
        if item.number == 3 and span.number(item):
            return None
        if item.number == 2:
            inner = span.inside(item)
            dims.append(next((inner.number(f) for f in inner if f.number == 1), 0))
        if len(dims) > 254:
            raise Error("E0203", "a shape has more than 254 dimensions")
    return tuple(max(d, -1) for d in dims)


class Call(NamedTuple):
    """The name of a function, as an attribute that names one."""

    name: str


class Type(int):
    """The number of an element type."""


class Tensor(NamedTuple):
    """A TensorProto that is not parsed yet."""

    span: Span


class Shape(NamedTuple):
    """The value of an attribute that is a shape."""

    dims: Dims


def attribute(span: Span) -> Any:
    """Return an AttrValue: bytes, int, float, bool, Type, Shape, Tensor, Call, or a tuple of these; None if it is empty.  Raises E0201."""
    found: Any = None
    for item in span:
        if item.number == 1:
            found = _listed(span.inside(item))
        elif item.number in _SINGLE:
            found = _SINGLE[item.number](span, item)
        elif item.number == 9:
            raise Error("E0203", "an attribute is a placeholder outside of a function")
    return found


def _listed(span: Span) -> tuple[Any, ...]:
    """Return the values that an AttrValue.ListValue holds."""
    found: list[Any] = []
    for item in span:
        if item.number in (3, 5, 6):
            kind = {3: int, 5: bool, 6: Type}[item.number]
            found.extend(kind(v) for v in packed_numbers(span, item))
        elif item.number == 4:
            found.extend(packed_reals(span, item))
        elif item.number == 9:
            found.append(_called(span.inside(item)))
        elif item.number in _SINGLE:
            found.append(_SINGLE[item.number](span, item))
        if len(found) > MAX_LIST:
            raise Error("E0203", f"an attribute has more than {MAX_LIST} entries")
    return tuple(found)


def _called(span: Span) -> Call:
    return Call(next((span.inside(item).text() for item in span if item.number == 1), ""))


_SINGLE: dict[int, Callable[[Span, Field], Any]] = {
    2: lambda span, item: span.inside(item).bytes(),
    3: lambda span, item: span.number(item),
    4: lambda span, item: span.real(item),
    5: lambda span, item: bool(span.number(item)),
    6: lambda span, item: Type(span.number(item)),
    7: lambda span, item: Shape(shape_of(span.inside(item))),
    8: lambda span, item: Tensor(span.inside(item)),
    10: lambda span, item: _called(span.inside(item)),
}


def entries(span: Span) -> tuple[str, Span | None]:
    """Return key and value of a map's entry."""
    key, value = "", None
    for item in span:
        if item.number == 1:
            key = span.inside(item).text()
        elif item.number == 2:
            value = span.inside(item)
    return key, value


# ---- graphs and functions ------------------------------------------------------------------------------------------------------------


@record
class Node:
    """A NodeDef.  inputs: as the graph writes them; attributes are parsed when asked for."""

    name: str
    op: str
    inputs: tuple[str, ...]
    spans: tuple[Span, ...] = field(repr=False, default=())

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """The attributes, without annotations, whose names begin with an underscore."""
        found: dict[str, Any] = {}
        for span in self.spans:
            key, value = entries(span)
            if value is not None and not key.startswith("_"):
                found[key] = attribute(value)
        return found

    def calls(self) -> Iterator[str]:
        """Yield names of functions that attributes name."""
        for value in self.attributes.values():
            for item in value if type(value) is tuple else (value,):
                if isinstance(item, Call) and item.name:
                    yield item.name


def node_of(span: Span) -> Node:
    """Read a NodeDef. Raises E0201, E0203 for one without a name or op."""
    name, op = "", ""
    inputs: list[str] = []
    spans: list[Span] = []
    for item in span:
        if item.number == 1:
            name = span.inside(item).text()
        elif item.number == 2:
            op = span.inside(item).text()
        elif item.number == 3:
            inputs.append(span.inside(item).text())
        elif item.number == 5:
            spans.append(span.inside(item))
    if not name or not op:
        raise Error("E0203", f"a node has no {'op' if name else 'name'}", where=name or None)
    return Node(name, op, tuple(inputs), tuple(spans))


@record
class Function:
    """A function of the graph's library, as its FunctionDef says.

    Args:
        name: by which nodes call it.
        inputs: names and types of its arguments.
        outputs: of the signature, in order.
        nodes: of its body.
        results: tensor of the body by output.
        effects: nodes that run though no output needs them.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    results: dict[str, str]
    effects: tuple[str, ...]


def function_of(span: Span) -> Function:
    """Read a FunctionDef.  Raises E0201, E0203."""
    name, inputs, outputs = "", [], []
    nodes: list[Node] = []
    results: dict[str, str] = {}
    effects: list[str] = []
    for item in span:
        if item.number == 1:
            name, inputs, outputs = _signature(span.inside(item))
        elif item.number == 3:
            nodes.append(node_of(span.inside(item)))
        elif item.number in (4, 6):
            key, value = entries(span.inside(item))
            target = value.text() if value is not None else ""
            if item.number == 4:
                results[key] = target
            else:
                effects.append(target)
    if not name:
        raise Error("E0203", "a function has no name")
    missing = [output for output in outputs if output not in results]
    if missing:
        raise Error("E0203", f"function '{name}': nothing gives its output '{missing[0]}'")
    return Function(name, tuple(inputs), tuple(outputs), tuple(nodes), results, tuple(effects))


def _signature(span: Span) -> tuple[str, list[tuple[str, int]], list[str]]:
    """Name, arguments and outputs of an OpDef.  Raises E0202 for lists of tensors as one argument."""
    name, arguments, outputs = "", [], []
    for item in span:
        if item.number == 1:
            name = span.inside(item).text()
        elif item.number in (2, 3):
            inner = span.inside(item)
            found = {f.number: f for f in inner}
            if found.keys() & {5, 6}:
                raise Error("E0202", f"function '{name}' has an argument that is a list of tensors, which is not supported")
            label = inner.inside(found[1]).text() if 1 in found else ""
            if item.number == 2:
                arguments.append((label, inner.number(found[3]) if 3 in found else 0))
            else:
                outputs.append(label)
    return name, arguments, outputs


@record
class Graph:
    """A GraphDef: its nodes, and its functions by name."""

    nodes: tuple[Node, ...]
    functions: dict[str, Function]


def graph_of(span: Span) -> Graph:
    """Read a GraphDef and its library of functions.  Raises E0201, E0203."""
    nodes: list[Node] = []
    functions: dict[str, Function] = {}
    count = 0
    for item in span:
        if item.number == 1:
            nodes.append(node_of(span.inside(item)))
        elif item.number == 2:
            library = span.inside(item)
            for entry in library:
                if entry.number == 1:
                    function = function_of(library.inside(entry))
                    count += len(function.nodes)
                    if function.name in functions:
                        raise Error("E0203", f"function '{function.name}' is defined twice")
                    functions[function.name] = function
        if count + len(nodes) > MAX_NODES:
            raise Error("E0203", f"the model has more than {MAX_NODES} nodes")
    return Graph(tuple(nodes), functions)


def repeated(span: Span, number: int, make: Callable[[Span], Made]) -> Iterator[Made]:
    """Return every message of one field number."""
    return (make(span.inside(item)) for item in span if item.number == number)

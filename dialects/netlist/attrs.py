"""Attributes of dialect netlist: the plain dataclasses of `model.py` as readable text.

Example: `#netlist.grid<row = 0, col = 2, rows = 4, cols = 1>`.
"""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import attribute, parse_entry, parse_value, plain, value_text
from ttc.dialects.netlist import model
from ttc.dialects.netlist.codec import decode, default_of, stored_fields


class RecordAttr(Data[Any]):
    """A dataclass of the model; fields that equal their default (or are None) are not printed."""

    KIND: ClassVar[type]

    def print_parameter(self, printer: Printer) -> None:
        entries = [
            f"{field.name} = {value_text(value)}"
            for field in stored_fields(self.KIND)
            if (value := getattr(self.data, field.name)) is not None and value != default_of(field)
        ]
        if entries:
            printer.print_string(f"<{', '.join(entries)}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        raw: dict[str, Any] = {f.name: None for f in stored_fields(cls.KIND) if f.default is MISSING and "None" in str(f.type)}
        given: dict[str, Any] = {}
        if parser.parse_optional_punctuation("<") is not None:
            for name, value in parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: parse_entry(parser)):
                if name in given:
                    parser.raise_error(f"'{name}' is given twice")
                given[name] = value
            parser.parse_punctuation(">")
        try:
            return decode(cls.KIND, raw | given, cls.name)
        except Error as error:
            parser.raise_error(f"{error.where}: {error.message}")


@irdl_attr_definition
class GridAttr(RecordAttr):
    """A rectangle of cores: `#netlist.grid<row = 0, col = 0, rows = 2, cols = 8>`."""

    name = "netlist.grid"
    KIND = model.Grid


@irdl_attr_definition
class HostAttr(RecordAttr):
    """The host as a place: `#netlist.host`."""

    name = "netlist.host"
    KIND = model.Host


@irdl_attr_definition
class EthernetAttr(RecordAttr):
    """An Ethernet core as a place: `#netlist.ethernet<chip = 1, ingress = [8], egress = [0]>`."""

    name = "netlist.ethernet"
    KIND = model.Ethernet


@irdl_attr_definition
class BlockingAttr(RecordAttr):
    """Blocks of one core: `#netlist.blocking<t = 1, mblock = [2, 4], ublock = [2, 4]>`."""

    name = "netlist.blocking"
    KIND = model.Blocking


@irdl_attr_definition
class BufferAttr(RecordAttr):
    """A block of L1: `#netlist.buffer<role = "in0", tiles = 8, tile_bytes = 2080, copies = 2>`."""

    name = "netlist.buffer"
    KIND = model.Buffer


@irdl_attr_definition
class ArgumentAttr(RecordAttr):
    """An argument or result: `#netlist.argument<name = "x", kind = "input", queue = "x", shape = [8, 3], dtype = "float32">`."""

    name = "netlist.argument"
    KIND = model.Argument


@irdl_attr_definition
class SettingAttr(RecordAttr):
    """How an execution uses a queue: `#netlist.setting<queue = "x", rd_ptr_local = "$l", rd_ptr_global = "$g", rd_ptr_autoinc = 1>`."""

    name = "netlist.setting"
    KIND = model.QueueSetting


@irdl_attr_definition
class ChipAttr(RecordAttr):
    """The machine a netlist is placed on: `#netlist.chip<target = "n150", arch = "wormhole_b0", grid = [9, 8], ...>`."""

    name = "netlist.chip"
    KIND = model.Chip


@irdl_attr_definition
class AddressesAttr(Data[tuple[tuple[int, int], ...]]):
    """(channel, address) of a queue's buffers: `#netlist.addresses<[[0, 268435456], [1, 268435456]]>`; or their ports, (NoC, node)."""

    name = "netlist.addresses"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{value_text(self.data)}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[int, int], ...]:
        with parser.in_angle_brackets():
            pairs = parse_value(parser)
        if not isinstance(pairs, tuple) or not all(_is_pair(x) for x in pairs):
            parser.raise_error("addresses read [[channel, address], ...]")
        return cast("tuple[tuple[int, int], ...]", pairs)


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(x) is int for x in value)


RECORDS: tuple[type[RecordAttr], ...] = (
    GridAttr, HostAttr, EthernetAttr, BlockingAttr, BufferAttr, ArgumentAttr, SettingAttr, ChipAttr,
)  # fmt: skip
_BY_KIND: dict[type, type[RecordAttr]] = {attr.KIND: attr for attr in RECORDS}

_HELD: frozenset[type[Attribute]] = frozenset((*RECORDS, AddressesAttr))
"""Attributes that hold their value as it is; looked up by class, since `isinstance` of xDSL's classes that says no is slow."""


def netlist_attribute(value: object) -> Attribute:
    """Return the attribute of a plain value, a dataclass of the model, or a tuple of them."""
    found = _BY_KIND.get(type(value))
    if found is not None:
        return found(value)
    if isinstance(value, tuple) and value and type(value[0]) in _BY_KIND:
        return ArrayAttr([netlist_attribute(x) for x in value])
    return attribute(value)


def netlist_value(attr: Attribute) -> Any:
    """Return the plain value of an attribute that `netlist_attribute` made."""
    kind = type(attr)
    if kind in _HELD:
        return cast("RecordAttr | AddressesAttr", attr).data
    if kind is ArrayAttr:
        return tuple([netlist_value(x) for x in cast("ArrayAttr[Attribute]", attr).data])
    return plain(attr)

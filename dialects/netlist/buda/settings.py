"""What the plain netlist has no field for: fields of the form, kept as settings of its queues, ops and graphs.

A setting is (name of the form's field, value).  `from_netlist` derives a form from the plain netlist's own fields; a setting says where
the text had something else than what would be derived, and overrules it.  So a netlist that came from YAML holds all that was written
there, and one that the compiler made needs no settings at all.  Names that are no fields:

    `instances` (entry, devices)     of queues and graphs: the entry of the form that stood for instances on several devices
    `fused_op` name                  of ops: the entry of section `fused_ops`
    `attributes` (name, value), ...  of ops: those that differ from what the work says;  `attributes_without` names: those left out
    `order` names                    of graphs: their ops as they were written, where that is not the order of computation
    `archs`, `extra`                 of the netlist: architectures, sections without a meaning
    `fused_ops`, `fused_order`       of the netlist: entries that no op implies as they are, and the order of all
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar, cast

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.form import BudaGraph, BudaOp, BudaQueue, FusedOp, SubOp, Tm
from ttc.dialects.netlist.model import Settings

T = TypeVar("T", BudaQueue, BudaOp, BudaGraph)
FormT = TypeVar("FormT", FusedOp, SubOp)
OWN = ("instances", "fused_op", "order", "archs", "fused_ops", "fused_order", "extra")
"""Names that are no fields of the form."""
WITHOUT = "attributes_without"
DERIVED = ("name", "lines", "ops")


def encoded(value: object) -> Plain:
    """Return a value of the form's fields as a plain value."""
    if isinstance(value, Tm):
        return (value.kind, *value.args)
    if isinstance(value, FusedOp | SubOp):
        return _record(value)
    if isinstance(value, Mapping):
        return tuple([(key, encoded(item)) for key, item in value.items()])
    if isinstance(value, tuple):
        return tuple([encoded(item) for item in value])
    return cast("Plain", value)


def _record(value: FusedOp | SubOp) -> Plain:
    """Return the fields of a fused op or sub-op that differ from their defaults."""
    empty = type(value)(value.name)
    found: list[Plain] = [("name", value.name)]
    for item in fields(value):
        given = getattr(value, item.name)
        if item.compare and item.name != "name" and given != getattr(empty, item.name):
            found.append((item.name, encoded(given)))
    return tuple(found)


def differing(derived: T, written: T) -> Settings:
    """Settings with which `restored(derived, settings)` is what was written."""
    found: list[tuple[str, Plain]] = []
    for item in fields(written):
        value, implied = getattr(written, item.name), getattr(derived, item.name)
        if not item.compare or item.name in DERIVED or value == implied:
            continue
        if item.name == "attributes":
            found.extend(_differing_attributes(implied, value))
        else:
            found.append((item.name, encoded(value)))
    return tuple(found)


def _differing_attributes(derived: Mapping[str, Plain], written: Mapping[str, Plain]) -> Iterator[tuple[str, Plain]]:
    more = {key: value for key, value in written.items() if key not in derived or not _alike(derived[key], value)}
    without = tuple(key for key in derived if key not in written)
    if more:
        yield "attributes", encoded(more)
    if without:
        yield WITHOUT, without


def _alike(a: Plain, b: Plain) -> bool:
    return type(a) is type(b) and a == b


def restored(derived: T, settings: Settings, where: str) -> T:
    """Return the form with the fields that settings name.  Raises E0609 for a setting that is no field, or of another form."""
    known = {item.name for item in fields(derived) if item.compare and item.name not in DERIVED}
    values: dict[str, Any] = {item.name: getattr(derived, item.name) for item in fields(derived)}
    for name, value in settings:
        if name in OWN:
            continue
        if name == WITHOUT and "attributes" in known:
            gone = texts(value, where) or ()
            values["attributes"] = {key: item for key, item in values["attributes"].items() if key not in gone}
        elif name not in known:
            raise Error("E0609", f"'{name[:40]}' is no setting of a {type(derived).__name__}", where=where)
        elif name == "attributes":
            values[name] = {**values[name], **_decoded(type(derived), name, value, where)}
        else:
            values[name] = _decoded(type(derived), name, value, where)
    return type(derived)(**values)


def setting(settings: Settings, name: str) -> Plain:
    """Return the setting of that name; None if there is none."""
    return next((value for key, value in settings if key == name), None)


# ---- from plain values -----------------------------------------------------------------------------------------------------------------


def _decoded(kind: type, name: str, value: Plain, where: str) -> Any:
    """Return the value of a field from its plain value.  Raises E0609."""
    try:
        return None if value is None else _decoder(kind, name)(value)
    except (TypeError, ValueError, IndexError, AttributeError):
        raise Error("E0609", f"setting '{name[:40]}' does not read as this field of Buda", where=where) from None


def _decoder(kind: type, name: str) -> Callable[[Any], Any]:
    return _SPECIAL[kind].get(name) or _DECODERS[name]


def _tms(value: Any) -> tuple[Tm, ...]:
    return tuple([Tm(_text(kind), tuple(args)) for kind, *args in value])


def _per_input(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {_whole(index): convert(item) for index, item in value}


def _attributes(value: Any) -> dict[str, Plain]:
    return {_text(key): item for key, item in value}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is wanted")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("an integer is wanted")
    return value


def _wholes(value: Any) -> tuple[int, ...]:
    return tuple([_whole(item) for item in value])


def _pair(value: Any) -> tuple[int, int]:
    first, second = value
    return _whole(first), _whole(second)


def _pad(value: Any) -> tuple[int, int, float]:
    rt, ct, filler = value
    return _whole(rt), _whole(ct), float(filler)


def _forks(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple([(_text(queue), _text(op)) for queue, op in value])


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ValueError("a list is wanted")
    return tuple([_text(item) for item in value])


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("true or false is wanted")
    return value


def _fused(value: Any) -> FusedOp:
    return _of_record(FusedOp, value)


def _sub_op(value: Any) -> SubOp:
    return _of_record(SubOp, value)


def _of_record(kind: type[FormT], value: Any) -> FormT:
    known = {item.name for item in fields(kind) if item.compare}
    values: dict[str, Any] = {}
    for name, item in value:
        if name not in known:
            raise ValueError("an unknown field")
        values[name] = None if item is None else _decoder(kind, name)(item)
    return kind(**values)


def fused_ops(value: Plain, where: str) -> dict[str, FusedOp]:
    """Entries of section `fused_ops` by name.  Raises E0609."""
    try:
        found = [_fused(item) for item in cast("Any", value or ())]
    except (TypeError, ValueError, IndexError, AttributeError):
        raise Error("E0609", "setting 'fused_ops' does not read as fused ops of Buda", where=where) from None
    return {op.name: op for op in found}


def texts(value: Plain, where: str) -> tuple[str, ...] | None:
    """Return a setting that is a list of names; None if it is absent.  Raises E0609."""
    try:
        return None if value is None else _texts(value)
    except (TypeError, ValueError):
        raise Error("E0609", "a list of names is wanted", where=where) from None


def named_devices(value: Plain, where: str) -> tuple[str, tuple[int, ...]]:
    """Return the setting `instances`.  Raises E0609."""
    try:
        name, devices = cast("Any", value)
        found = _text(name), _wholes(devices)
        if not found[1]:
            raise ValueError("no device")
    except (TypeError, ValueError):
        raise Error("E0609", "setting 'instances' takes a name and devices", where=where) from None
    return found


_DECODERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("grid_loc", "grid_size", "mblock", "ublock", "tile_dim"), _pair),
    **dict.fromkeys(("t", "entries", "buf_size_mb", "overlay_size", "input_count", "intermediates"), _whole),
    **dict.fromkeys(("target_devices", "read_ports", "write_ports", "input_buf_min_size_tiles", "input_dram_io_buf_size_tiles"), _wholes),
    **dict.fromkeys(("grid_transpose", "untilize_output", "gradient_op"), _truth),
    **dict.fromkeys(
        (
            *("input", "ublock_order", "df", "loc", "type", "layout", "alias", "out_df", "intermed_df", "acc_df", "math_fidelity"),
            *("custom_kernel_path", "output", "name"),
        ),
        _text,
    ),
    **dict.fromkeys(("in_df", "pop", "pop_last"), _texts),
    "attributes": _attributes,
    "forked_dram_inputs": _forks,
    "unpads": _per_input(_pair),
    "pads": _per_input(_pad),
    "addresses": lambda value: tuple([_pair(item) for item in value]),
}
"""How fields come from their plain value.  A setting may come out of hostile text: anything but the field's type is refused."""
_SPECIAL: dict[type, dict[str, Callable[[Any], Any]]] = {
    BudaQueue: {"input_tms": _tms},
    BudaOp: {"input_tms": _per_input(_tms), "inputs": _texts},
    BudaGraph: {},
    SubOp: {"input_tms": _per_input(_tms), "inputs": _texts, "zero_point": float},
    FusedOp: {"inputs": _whole, "schedules": lambda value: tuple([tuple([_sub_op(op) for op in schedule]) for schedule in value])},
}
"""Fields that mean different things in different entries."""

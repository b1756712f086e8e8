"""YAML as the Buda format uses it: maps, lists and texts with their lines, out of a file that is not trusted.

Scalars stay texts: what they mean depends on the field that holds them.  Tags and types of YAML play no part, an alias stands for the very
node it names (its size counts again each time).  A name stands once in a map of SECTIONS: a second one is left out and noted in `twice`.
A field may stand several times, as the format's own reader has it: the last one counts, of lists of tile manipulations all of them, and
of addresses the first; it is noted in `again`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, final

from ttc.dialects.core.errors import Error
from ttc.dialects.core.garbage import uncollected
from ttc.dialects.core.records import record

MAX_BYTES = 64 << 20
MAX_DEPTH = 32
MAX_NODES = 4_000_000
MAX_TEXT = 8192
"""Limits of a file: its size, how deep maps and lists nest, how many there are of maps, lists and scalars, aliases expanded, and the
characters of one scalar."""
SECTIONS = ("devices", "queues", "graphs", "programs", "fused_ops")
"""Top-level keys of the format; others belong to other programs."""
NULLS = frozenset(("", "~", "null", "Null", "NULL", "None"))
"""Plain scalars that say that there is no value."""

MERGED = ("kernel_broadcast", "kernel_broadcast_per_t")
"""Keys that may stand several times in a map, each with a map of its own entries: netlists do so."""
FIRST = ("dram", "host", "read_ports", "write_ports")
"""Fields of which the first counts if a map has several of the same name."""
LISTS = ("mblock", "ublock", "grid_loc", "grid_size", "tile_dim", "inputs", "input_buf_min_size_tiles", "input_dram_io_buf_size_tiles")
"""Fields with lists of which the last counts if a map has several; of any other list the format's reader takes both together, or none."""
ONCE = ("loop", "endloop")
"""Instructions that are read as a map of their own each time that they stand in a program."""
TMS = re.compile(r"input.*tms")


@final
@record(frozen=False, slots=True)
class Table:
    """A map: values by key, the line of each key, and its own line, all from 1."""

    line: int
    values: dict[str, Node] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


@final
@record(frozen=False, slots=True)
class Items:
    """A list: values, and the line of each."""

    line: int
    values: list[Node] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


class Quoted(str):
    """A scalar in quotes, which is a text even if it looks like a number."""

    __slots__ = ()


Node: TypeAlias = "Table | Items | str | None"
CollectionT = TypeVar("CollectionT", "Table", "Items")


@record(slots=True)
class Document:
    """A netlist file as nodes of maps, lists and texts.

    name: what messages call it; root: None if it is empty; twice: (key, line, line of the one before) of names written again, which is
    wrong; again: of fields written again, which is not.
    """

    name: str
    root: Node
    twice: tuple[tuple[str, int, int], ...] = ()
    again: tuple[tuple[str, int, int], ...] = ()


def read_document(source: Path | bytes, name: str | None = None) -> Document:
    """The document in a file or in its bytes.  Raises E0102 if it cannot be read, E0611 if it is not YAML in UTF-8 or passes a limit."""
    name = name or (str(source) if isinstance(source, Path) else "netlist")
    data = _bytes_of(source) if isinstance(source, Path) else source
    if len(data) > MAX_BYTES:
        raise Error("E0611", f"more than {MAX_BYTES >> 20} MB", where=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Error("E0611", f"not text in UTF-8: byte 0x{data[error.start]:02x}", where=f"{name}:{line}") from None
    with uncollected():
        return _composed(text, name)


def _bytes_of(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise Error("E0102", f"{path} is {'not a regular file' if path.exists() else 'missing'}")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise Error("E0102", f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _composed(text: str, name: str) -> Document:
    import yaml

    # libyaml is twenty times as fast as the parser in Python, but PyYAML may have been built without it
    try:
        parser: Any = (yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)(text)
        return _Composer(name, parser.get_event).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = name if mark is None else f"{name}:{mark.line + 1}"
        message = " ".join(part for part in (error.context, error.problem) if part)
        raise Error("E0611", f"not YAML: {message}", where=where, hint=_hint(text, mark)) from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position if isinstance(position, int) else 0) + 1
        reason = getattr(error, "reason", None) or "unreadable"
        raise Error("E0611", f"not YAML: {reason}", where=f"{name}:{line}") from None


def _hint(text: str, mark: Any) -> str | None:
    if mark is None:
        return None
    lines = text.split("\n", mark.line + 1)
    if mark.line < len(lines) and "\t" in lines[mark.line]:
        return "indent with spaces: YAML does not take tabs"
    return "the file ends inside a list or map: is it cut off?" if mark.line + 1 >= len(lines) else None


class _Composer:
    """Puts nodes together from the events of the parser, which `next_event` gives one by one, at last None."""

    def __init__(self, name: str, next_event: Callable[[], Any]) -> None:
        self.name = name
        self.next_event = next_event
        self.nodes = 0
        self.twice: list[tuple[str, int, int]] = []
        self.again: list[tuple[str, int, int]] = []
        self.joined: dict[int, Table | Items] = {}
        self.anchors: dict[str, tuple[Node, int]] = {}

    def document(self) -> Document:
        """Compose the only document that the stream may hold."""
        from yaml import AliasEvent, DocumentStartEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

        documents, root = 0, None
        while (event := self.next_event()) is not None:
            kind = type(event)
            if kind is DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise Error("E0611", "a second document in one file", where=f"{self.name}:{event.start_mark.line + 1}")
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                root = self.collection(event)
            elif kind is ScalarEvent:
                root = self.scalar(event)
            elif kind is AliasEvent:
                self.alias(event)
        return Document(self.name, root, tuple(self.twice), tuple(self.again))

    def collection(self, opened: Any) -> Node:
        """Return the map or list that an event opens, with all in it: no recursion, as the depth of the file is not ours to choose.

        One loop for all events, as most of the time of a check goes by here.
        """
        from yaml import AliasEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

        stack: list[tuple[Table | Items, str | None, int, str | None, int]] = []  # with the key that waits, its line, anchor, nodes before
        line = opened.start_mark.line + 1
        node: Table | Items = Table(line) if type(opened) is MappingStartEvent else Items(line)
        key: str | None = None
        key_line, anchor, before = 0, opened.anchor, self.nodes
        next_event = self.next_event
        while (event := next_event()) is not None:
            kind = type(event)
            line = event.start_mark.line + 1
            if kind is ScalarEvent:
                value: Any = event.value
                if len(value) > MAX_TEXT or value in NULLS or not event.implicit[0] or event.anchor is not None or self.nodes >= MAX_NODES:
                    value = self.scalar(event)
                else:  # nearly all of them
                    self.nodes += 1
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                stack.append((node, key, key_line, anchor, before))
                if len(stack) >= MAX_DEPTH:
                    raise self.limit(f"maps and lists nest deeper than {MAX_DEPTH}", line)
                if type(node) is Table and key is None:
                    raise Error("E0611", "a key is a map or a list, not a name", where=f"{self.name}:{line}")
                node = Table(line) if kind is MappingStartEvent else Items(line)
                key, anchor, before = None, event.anchor, self.nodes
                self.count(1, line)
                continue
            elif kind is AliasEvent:
                value = self.alias(event)
            else:  # the end of this map or list
                if anchor is not None:
                    self.anchors[anchor] = (node, self.nodes - before + 1)
                if not stack:
                    return node
                value, line = node, node.line
                node, key, key_line, anchor, before = stack.pop()
            if type(node) is Items:
                node.values.append(value)
                node.lines.append(line)
            elif key is None:
                key, key_line = value if type(value) is str else self.name_of(value, line), line
            elif key in node.values:
                self.enter_again(node, key, key_line, value, stack[0][1] if stack else None)
                key = None
            else:
                node.values[key] = value
                node.lines[key] = key_line
                key = None
        raise Error("E0611", "the file ends inside a list or map", where=self.name)

    def enter_again(self, table: Table, key: str, line: int, value: Node, section: str | None) -> None:
        """A pair of a map that has the key already.  The same text again changes nothing, nor does what is in no section of netlists."""
        known = table.values[key]
        if (isinstance(value, str) and value == known) or (section is not None and section not in SECTIONS):
            return
        place = (key, line, table.lines[key])
        if section is None or not self.put_again(table, key, known, value):
            self.twice.append(place)
            return
        if key not in MERGED:
            self.again.append(place)
        if key not in FIRST:
            table.lines[key] = line

    def put_again(self, table: Table, key: str, known: Node, value: Node) -> bool:
        """Put a field in a map that has it already; False if it can stand there only once."""
        if isinstance(known, Table) and isinstance(value, Table):
            if key != "attributes" and (key not in MERGED or known.values.keys() & value.values.keys()):
                return False
            own = self.own(table, key, known)
            own.values.update(value.values)
            own.lines.update(value.lines)
        elif isinstance(known, Items) and isinstance(value, Items) and TMS.fullmatch(key):
            items = self.own(table, key, known)
            items.values += value.values
            items.lines += value.lines
        elif isinstance(known, Items) and isinstance(value, Items) and key not in (*FIRST, *LISTS):
            return False
        elif isinstance(known, Table) or isinstance(value, Table) or key.startswith("$") or key in ONCE:
            return False
        elif key not in FIRST:
            table.values[key] = value
        return True

    def own(self, table: Table, key: str, known: CollectionT) -> CollectionT:
        """Return a map or list of a field to which more can be added: a copy, as an alias may stand for it elsewhere, the first time."""
        if id(known) in self.joined:
            return known
        copy = replace(known, values=known.values.copy(), lines=known.lines.copy())
        table.values[key] = copy
        self.joined[id(copy)] = copy
        return copy

    def name_of(self, value: Node, line: int) -> str:
        """Return a key, from a scalar."""
        if isinstance(value, Table | Items):
            raise Error("E0611", "a key is a map or a list, not a name", where=f"{self.name}:{line}")
        return "" if value is None else str(value)

    def scalar(self, event: Any) -> str | None:
        """Return a text; None where there is no value."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.limit(f"more than {MAX_NODES} values", event.start_mark.line + 1)
        text: str = event.value
        if len(text) > MAX_TEXT:
            raise self.limit(f"a text of more than {MAX_TEXT} characters", event.start_mark.line + 1)
        value = (None if text in NULLS else text) if event.implicit[0] else Quoted(text)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1)
        return value

    def alias(self, event: Any) -> Node:
        """Return the node that an alias names; all of it counts again, so that few lines cannot stand for billions."""
        line = event.start_mark.line + 1
        if event.anchor not in self.anchors:
            raise Error("E0611", f"alias '*{event.anchor}' names no node before it", where=f"{self.name}:{line}")
        node, size = self.anchors[event.anchor]
        self.count(size, line)
        return node

    def count(self, nodes: int, line: int) -> None:
        """Count nodes toward the limit of a document."""
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise self.limit(f"more than {MAX_NODES} values, aliases expanded", line)

    def limit(self, message: str, line: int) -> Error:
        """Return a file larger than any netlist."""
        return Error("E0611", message, where=f"{self.name}:{line}")

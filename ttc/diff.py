"""How two modules, dumps or archives differ: ops aligned by what they came from and what they are, not by their place in a text."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from ttc.dialects.core.attributes import plain
from ttc.dialects.core.errors import Error
from ttc.dialects.core.functions import entry_functions
from ttc.dialects.core.ir import TtcOp
from ttc.dialects.core.leaves import LeafOp
from ttc.dialects.core.locations import source_names
from ttc.dialects.core.parsing import parse_module
from ttc.dialects.core.plain import Plain
from ttc.dialects.core.records import record
from ttc.dialects.core.to_plain import plain_attr, plain_type
from ttc.dialects.netlist.from_model import from_model
from ttc.dialects.netlist.ops import NetlistOp
from ttc.files import require_input
from ttc.instruments.dump import INDEX
from ttc.runtime.archive import open_archive
from ttc.source import check_recorded, dialects, read_text

PLACES = ("place", "chip")
COST = "cycles"
_NAMES = ("sym", "key")
"""Fields that name an op or a tensor.  Buffers are left out, too: they follow from blocks."""


@record
class Item:
    """An op.  name: `nn.add`, or a netlist op's type; sources: what it came from; fields: attributes, types, place, cost as texts."""

    name: str
    sources: tuple[str, ...]
    fields: Mapping[str, str]

    def __str__(self) -> str:
        first, *others = self.sources or ("?",)
        return f"{self.name} at {first}{f' (+{len(others)})' if others else ''}"


@record(frozen=False)
class Difference:
    """What B has otherwise than A.

    Args:
        removed, added: ops that have no counterpart.
        fused: ops of A, and the op of B that came from all of them.
        split: an op of A, and the ops of B that came from it.
        changed: counterparts, with (old, new) by field; moved: those whose place alone differs.
        cycles: estimated, of all ops, in A and in B; None where they are not known.
        passes: for dumps: passes that changed the module in one alone, or to other numbers of ops.
    """

    removed: list[Item] = field(default_factory=list)
    added: list[Item] = field(default_factory=list)
    fused: list[tuple[list[Item], Item]] = field(default_factory=list)
    split: list[tuple[Item, list[Item]]] = field(default_factory=list)
    changed: list[tuple[Item, dict[str, tuple[str, str]]]] = field(default_factory=list)
    moved: list[tuple[Item, dict[str, tuple[str, str]]]] = field(default_factory=list)
    cycles: tuple[int, int] | None = None
    passes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether there is no difference."""
        return not (self.removed or self.added or self.fused or self.split or self.changed or self.moved or self.passes)


# ---- reading --------------------------------------------------------------------------------------------------------------------


def items_of(path: Path) -> list[Item]:
    """The ops of a module's text, of an archive, or of the last module of a dump.  Raises E0102, E0201, E03xx, E07xx."""
    if path.is_dir():
        rows = index_of(path)
        return items_of(path / str(rows[-1]["file"])) if rows else []
    if path.suffix.lower() == ".tti":
        return list(_items(from_model(open_archive(require_input(path)).netlist())))
    if path.suffix.lower() != ".mlir":
        raise Error("E0201", f"{path.name} is no IR text, archive or dump", hint="ttc compile writes them: -o, --to, --dump")
    module = parse_module(read_text(require_input(path)), path.name, dialects())
    check_recorded(module, path.name)
    return list(_items(module))


def index_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of a dump's index.  Raises E0102 if there is none, E0301 if it is not one."""
    try:
        rows = json.loads(read_text(require_input(folder / INDEX)))
        if not isinstance(rows, list) or not all(isinstance(row, dict) and isinstance(row.get("file"), str) for row in rows):
            raise ValueError("it is no list of passes")
        if any(".." in Path(row["file"]).parts or Path(row["file"]).is_absolute() for row in rows):
            raise ValueError("a file lies outside of the folder")
    except (ValueError, RecursionError) as error:
        raise Error("E0301", f"not an index of a dump: {error}", where=str(folder / INDEX)) from None
    return rows


def _items(module: ModuleOp) -> Iterator[Item]:
    placed = [op for op in module.walk() if isinstance(op, NetlistOp)]
    for op in placed:
        fields = {name: _field(value) for name, value in op.properties.items() if name not in (*_NAMES, "type", "buffers")}
        works = ", ".join(work.name for work in op.works)
        yield Item(op.type, source_names(op.location), {**fields, "work": works, "result": _type(op.results[0].type)})
    if placed:
        return
    for function in entry_functions(module):
        for op in function.walk():
            if isinstance(op, TtcOp) and not isinstance(op, LeafOp):
                fields = {name: _text(plain_attr(value)) for name, value in op.plain_attrs().items() if name not in _NAMES}
                yield Item(op.name, source_names(op.location), {**fields, "result": ", ".join(_type(r.type) for r in op.results)})


def _type(type_: Any) -> str:
    found = plain_type(type_)
    return f"{found.format}{list(found.shape)}"


def _field(value: Attribute) -> str:
    """A property of a netlist op as IR text; numbers, words and lists of them bare."""
    if isinstance(value, builtin.IntegerAttr | builtin.StringAttr | builtin.DenseArrayBase):
        return _text(plain_attr(plain(value)))
    return str(value)


def _text(value: Plain | object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


# ---- comparing ------------------------------------------------------------------------------------------------------------------


def difference(a: Sequence[Item], b: Sequence[Item]) -> Difference:
    """How the ops of B differ from those of A."""
    found = Difference(cycles=_cycles(a, b))
    left, right = _match(a, b, found)
    _match_parts(left, right, found)
    found.removed.extend(left)
    found.added.extend(right)
    return found


def _match(a: Sequence[Item], b: Sequence[Item], found: Difference) -> tuple[list[Item], list[Item]]:
    """Pair ops of the same name and sources, in order; the others are left over."""
    waiting: dict[tuple[str, tuple[str, ...]], list[Item]] = defaultdict(list)
    for item in b:
        waiting[item.name, item.sources].append(item)
    left: list[Item] = []
    for item in a:
        same = waiting[item.name, item.sources]
        if not same:
            left.append(item)
            continue
        _compare(item, same.pop(0), found)
    rest = {id(item) for items in waiting.values() for item in items}
    return left, [item for item in b if id(item) in rest]


def _compare(old: Item, new: Item, found: Difference) -> None:
    names = sorted({*old.fields, *new.fields} - {COST})
    changes = {n: (old.fields.get(n, ""), new.fields.get(n, "")) for n in names if old.fields.get(n) != new.fields.get(n)}
    if changes:
        (found.moved if set(changes) <= {*PLACES} else found.changed).append((new, changes))


def _match_parts(left: list[Item], right: list[Item], found: Difference) -> None:
    """Ops whose sources went into those of one op on the other side."""
    for item in list(right):
        parts = [old for old in left if old.sources and set(old.sources) <= set(item.sources)]
        if parts and item.sources:
            found.fused.append((parts, item))
            right.remove(item)
            for part in parts:
                left.remove(part)
    for item in list(left):
        parts = [new for new in right if new.sources and set(new.sources) <= set(item.sources)]
        if parts and item.sources:
            found.split.append((item, parts))
            left.remove(item)
            for part in parts:
                right.remove(part)


def _cycles(a: Sequence[Item], b: Sequence[Item]) -> tuple[int, int] | None:
    sums = [sum(int(item.fields[COST]) for item in items if item.fields.get(COST, "").isdecimal()) for items in (a, b)]
    return (sums[0], sums[1]) if all(sums) else None


def pass_differences(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Runs of passes that did otherwise in the second of two dumps, and how."""
    found: list[tuple[str, str]] = []
    rows = [{_run(row): row for row in _numbered(side)} for side in (a, b)]
    for run in dict.fromkeys([*rows[0], *rows[1]]):
        old, new = rows[0].get(run), rows[1].get(run)
        if old is None or new is None:
            found.append((run, f"runs in {'B' if old is None else 'A'} alone"))
        elif old.get("changed") != new.get("changed"):
            found.append((run, f"changes the module in {'B' if new.get('changed') else 'A'} alone"))
        elif old.get("rewrites") != new.get("rewrites"):
            found.append((run, f"rewrites {_counts(old)} in A, {_counts(new)} in B"))
    return found


def _numbered(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    times: Counter[str] = Counter()
    for row in rows:
        name = str(row.get("pass"))
        times[name] += 1
        yield {**row, "times": times[name]}


def _run(row: Mapping[str, Any]) -> str:
    return f"{row.get('stage')}:{row.get('pass')}@{row['times']}"


def _counts(row: Mapping[str, Any]) -> str:
    rewrites = row.get("rewrites")
    counts = rewrites if isinstance(rewrites, dict) else {}
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "nothing"


def compared(a: Path, b: Path) -> Difference:
    """How two files or dumps differ.  Raises as `items_of` does, E0101 for a dump and a file."""
    if a.is_dir() != b.is_dir():
        raise Error("E0101", "a dump is compared with a dump", hint="name one of its .mlir files")
    found = difference(items_of(a), items_of(b))
    if a.is_dir():
        found.passes = pass_differences(index_of(a), index_of(b))
    return found

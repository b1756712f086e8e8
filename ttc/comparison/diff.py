"""How two modules, dumps or archives differ: ops aligned by what they came from and what they are, not by their place in a text."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from ttc.accuracy.distances import Comparison, compare
from ttc.comparison.diff_facts import Facts, Values, archive_facts, module_facts, netlist_facts, op_facts, operands_text, weight_facts
from ttc.compiler.source import check_recorded, dialects, read_text, text_weights
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.ir.attributes import plain
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.to_plain import plain_attr, plain_type
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.records import record
from ttc.dialects.netlist.checks import require_valid
from ttc.dialects.netlist.from_model import from_model
from ttc.dialects.netlist.model import Netlist
from ttc.dialects.netlist.ops import NetlistOp
from ttc.dialects.netlist.to_model import to_model
from ttc.inputs.files import require_input
from ttc.instruments.dump import INDEX
from ttc.runtime.archive import Archive, open_archive

PLACES = ("place", "chip", "graph")
_FOLLOW = ("buffers",)
"""Fields that follow from others: shown where these others are the same."""
COST = "cycles"
_NAMES = ("sym", "key")
"""Fields that name an op or a tensor."""


@record
class Item:
    """An op as `ttc diff` sees it.  name: `nn.add`, or a netlist op's type; sources: what it came from; fields: attributes, types, place,
    cost as texts.
    """

    name: str
    sources: tuple[str, ...]
    fields: Mapping[str, str]

    def __str__(self) -> str:
        first, *others = self.sources or ("?",)
        return f"{self.name} at {first}{f' (+{len(others)})' if others else ''}"


@record(frozen=False)
class Difference:
    """What differs between two sides A and B.

    Args:
        removed, added: ops that have no counterpart.
        fused: ops of A, and the op of B that came from all of them.
        split: an op of A, and the ops of B that came from it.
        changed: counterparts, with (old, new) by field; moved: those whose place alone differs.
        cycles: estimated, of all ops, in A and in B; None where they are not known.
        others: what differs beside ops, with (old, new) by field: queues, graphs, programs, options, tensors; of one that is in A or B
            alone, the empty name with `there`.
        values: how far values of tensors are apart, where that was asked for.
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
    others: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    values: dict[str, Comparison] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        """Whether there is no difference."""
        return not (self.removed or self.added or self.fused or self.split or self.changed or self.moved or self.passes or self.others)


# ---- reading --------------------------------------------------------------------------------------------------------------------


@record
class Side:
    """A module, archive or dump: its ops, what else it says, and its tensors by the name of their facts."""

    items: Sequence[Item]
    facts: Facts = field(default_factory=dict)
    values: Values = field(default_factory=dict)


def side_of(path: Path, weights: Path | None = None) -> Side:
    """Return what there is to compare of a module's text, of an archive, or of the last module of a dump.

    weights: archive or model with the weights of a module, which are compared, too.
    Raises:  E0102, E0201, E03xx, E07xx.
    """
    if path.is_dir():
        rows = index_of(path)
        return side_of(path / str(rows[-1]["file"]), weights) if rows else Side([])
    if path.suffix.lower() == ".tti":
        archive = open_archive(require_input(path))
        return archive_side(archive, archive.netlist())
    if path.suffix.lower() != ".mlir":
        raise Error("E0201", f"{path.name} is no IR text, archive or dump", hint="ttc compile writes them: -o, --to, --dump")
    module = parse_module(read_text(require_input(path)), path.name, dialects())
    check_recorded(module, path.name)
    facts = module_facts(module)
    if any(isinstance(op, NetlistOp) for op in module.walk()):
        netlist = to_model(module)
        items, facts = list(_placed(module, netlist)), facts | netlist_facts(netlist)
    else:
        items = list(_items(module))
    found, values = weight_facts(module, text_weights(module, weights)) if weights is not None else ({}, {})
    return Side(items, facts | found, values)


def index_of(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a dump's index.  Raises E0102 if there is none, E0301 if it is not one."""
    try:
        rows = json.loads(read_text(require_input(folder / INDEX)))
        if not isinstance(rows, list) or not all(isinstance(row, dict) and isinstance(row.get("file"), str) for row in rows):
            raise ValueError("it is no list of passes")
        if any(".." in Path(row["file"]).parts or Path(row["file"]).is_absolute() for row in rows):
            raise ValueError("a file lies outside of the folder")
    except (ValueError, RecursionError) as error:
        raise Error("E0301", f"not an index of a dump: {error}", where=str(folder / INDEX)) from None
    return rows


def archive_side(archive: Archive, netlist: Netlist) -> Side:
    """Return what there is to compare of an archive with that netlist.  Raises E06xx for one that is not sound."""
    require_valid(netlist)
    values: Values = {f"tensor {key}": partial(archive.tensor, key) for key in archive.manifest.tensors}
    return Side(list(_placed(from_model(netlist), netlist)), archive_facts(archive, netlist), values)


def sides_differ(old: Side, new: Side) -> Difference:
    """Return how what B says differs from what A says."""
    found = difference(old.items, new.items)
    found.others = other_differences(old.facts, new.facts)
    return found


def _placed(module: ModuleOp, netlist: Netlist) -> Iterator[Item]:
    """Yield the ops of a netlist, in both of its forms."""
    graphs = {op.name: (op, graph) for graph in netlist.graphs.values() for op in graph.ops}
    for op in (op for op in module.walk() if isinstance(op, NetlistOp)):
        fields = {name: _field(value) for name, value in op.properties.items() if name not in (*_NAMES, "type", "buffers")}
        works = ", ".join(work.name for work in op.works)
        more = op_facts(*graphs[op.sym])
        yield Item(op.type, source_names(op.location), {**fields, "work": works, "result": _type(op.results[0].type), **more})


def _items(module: ModuleOp) -> Iterator[Item]:
    for function in entry_functions(module):
        for op in function.walk():
            if isinstance(op, TtcOp) and not isinstance(op, LeafOp):
                fields = {name: _text(plain_attr(value)) for name, value in op.plain_attrs().items() if name not in _NAMES}
                results = ", ".join(_type(r.type) for r in op.results)
                yield Item(op.name, source_names(op.location), {**fields, "operands": operands_text(op), "result": results})


def _type(type_: Any) -> str:
    found = plain_type(type_)
    return f"{found.format}{list(found.shape)}"


def _field(value: Attribute) -> str:
    """Return a property of a netlist op as IR text; numbers, words and lists of them bare."""
    if isinstance(value, builtin.IntegerAttr | builtin.StringAttr | builtin.DenseArrayBase):
        return _text(plain_attr(plain(value)))
    return str(value)


def _text(value: Plain | object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


# ---- comparing ------------------------------------------------------------------------------------------------------------------


def difference(a: Sequence[Item], b: Sequence[Item]) -> Difference:
    """Return how the ops of B differ from those of A."""
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
    changes = _changes(old.fields, new.fields)
    if len(changes) > 1:
        changes.pop(COST, None)  # which follows from the others
    if any(name.partition("[")[0] not in (*_FOLLOW, *PLACES) for name in changes):
        changes = {name: change for name, change in changes.items() if name.partition("[")[0] not in _FOLLOW}
    if changes:
        (found.moved if set(changes) <= {*PLACES} else found.changed).append((new, changes))


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """(old, new) of the fields that differ, empty for one that is not there."""
    return {n: (old.get(n, ""), new.get(n, "")) for n in sorted({*old, *new}) if old.get(n) != new.get(n)}


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
    """Return the runs of passes that did something else in the second of two dumps, and what."""
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


def compared(a: Path, b: Path, weights: Sequence[Path] = (), *, values: bool = False) -> Difference:
    """Return how two files or dumps differ.

    Args:
        weights: of modules as text: of both, or of A and of B.
        values: whether to say how far values of tensors are apart.
    Raises: as `side_of` does, E0101 for a dump and a file.
    """
    if a.is_dir() != b.is_dir():
        raise Error("E0101", "a dump is compared with a dump", hint="name one of its .mlir files")
    if len(weights) > 2:
        raise Error("E0101", f"weights are of A and of B, but {len(weights)} files are given")
    old, new = side_of(a, weights[0] if weights else None), side_of(b, weights[-1] if weights else None)
    found = sides_differ(old, new)
    if values:
        found.values = dict(_value_differences(old, new, found.others))
    if a.is_dir():
        found.passes = pass_differences(index_of(a), index_of(b))
    return found


def other_differences(a: Facts, b: Facts) -> dict[str, dict[str, tuple[str, str]]]:
    """Return what differs of the facts of two sides.  The order of ops and objects counts where they are the same ones."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for name in dict.fromkeys([*a, *b]):
        if name not in a or name not in b:
            found[name] = {"": ("there", "") if name in a else ("", "there")}
            continue
        changes = _changes(a[name], b[name])
        ordered = {n: c for n, c in changes.items() if not _is_order(n) or sorted(c[0].split()) == sorted(c[1].split())}
        if ordered:
            found[name] = ordered
    return found


def _is_order(name: str) -> bool:
    return name == "ops" or name.startswith("order of ")


def _value_differences(old: Side, new: Side, others: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, Comparison]]:
    for name in others:
        if name in old.values and name in new.values:
            a, b = old.values[name](), new.values[name]()
            if a.shape == b.shape and "O" not in (a.dtype.kind, b.dtype.kind):
                yield name, compare(b, a)

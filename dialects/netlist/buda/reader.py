"""Reads Buda netlists: from YAML to the form, with every place where the text is not of the format.

`read_form` goes on after a fault, so that all of them are found; what could not be read is None in the form, yet has its line, so that it
does not count as missing too.  `read_netlist` is for those who need a netlist that is right in form.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.garbage import uncollected
from ttc.dialects.netlist.buda.document import FIRST, SECTIONS, TMS, Items, Node, Table, read_document
from ttc.dialects.netlist.buda.form import BudaGraph, BudaNetlist, BudaOp, BudaProgram, BudaQueue, FusedOp, SubOp
from ttc.dialects.netlist.buda.reader_base import FieldReader
from ttc.dialects.netlist.buda.reader_fields import FUSED, GRAPH, OP, QUEUE, SUB_OP, Fields
from ttc.dialects.netlist.buda.reader_programs import read_instructions
from ttc.dialects.netlist.buda.reader_values import Convert, one_or_more, pad, plain, shown, text, tms, unpad
from ttc.dialects.netlist.violations import Violation

PER_INPUT = re.compile(r"input_([0-9]{1,3})_(tms|pad|unpad)")
INPUT_FIELDS: dict[str, tuple[str, Convert]] = {"tms": ("input_tms", tms), "pad": ("pads", pad), "unpad": ("unpads", unpad)}


def read_netlist(source: Path | bytes, name: str | None = None) -> BudaNetlist:
    """Return the netlist in a file or in its bytes; name: what messages call it.

    Raises E0102 and E0611 as `read_document` does, and the first fault of form with how many more there are.
    """
    netlist, violations = read_form(source, name)
    if violations:
        first = violations[0]
        more = f" (and {len(violations) - 1} more faults)" if len(violations) > 1 else ""
        raise Error(first.code, first.message + more, where=first.where, hint=first.hint)
    return netlist


def read_form(source: Path | bytes, name: str | None = None) -> tuple[BudaNetlist, list[Violation]]:
    """Read as much of a netlist as can be read, and say what is wrong with its form.  Raises E0102 and E0611 as `read_document` does."""
    with uncollected():
        return DocumentReader(read_document(source, name)).read()


class DocumentReader(FieldReader):
    """Makes the form of one document."""

    def read(self) -> tuple[BudaNetlist, list[Violation]]:
        """Return the netlist and the faults."""
        root = self.document.root
        if not isinstance(root, Table) or not root.values:
            message = (
                "the file has no section"
                if root is None or isinstance(root, Table)
                else f"a netlist is a map of sections, not {shown(root)}"
            )
            self.found.add("E0612", self.document.name, message, f"sections are {', '.join(SECTIONS)}")
            return BudaNetlist(source=self.document.name), self.found.violations
        netlist = BudaNetlist(
            archs=self.archs(root),
            queues={q.name: q for q in self.named(root, "queues", "queue", self.queue)},
            graphs={g.name: g for g in self.named(root, "graphs", "graph", self.graph)},
            programs=self.programs(root),
            fused_ops={f.name: f for f in self.named(root, "fused_ops", "fused op", self.fused_op)},
            sections=tuple(root.values),
            extra={key: plain(value) for key, value in root.values.items() if key not in SECTIONS},
            lines=root.lines,
            source=self.document.name,
            warnings=tuple(Violation("E0613", self.place(line), _written_again(key, first)) for key, line, first in self.document.again),
        )
        self.report_twice(netlist)
        return netlist, self.found.violations

    # ---- sections ------------------------------------------------------------------------------------------------------------------

    def report_twice(self, netlist: BudaNetlist) -> None:
        """Keys written twice that may stand once: names of queues, graphs and ops, and some fields."""
        names = netlist.queues.keys() | netlist.graphs.keys() | {op.name for graph in netlist.graphs.values() for op in graph.ops}
        for key, line, first in self.document.twice:
            code = "E0601" if key in names else "E0613"
            self.found.add(code, self.place(line), f"'{key}' is written twice: first in line {first}")

    def archs(self, root: Table) -> tuple[str, ...]:
        """Architectures of section devices, in small letters."""
        table = self.section(root, "devices")
        if table is None:
            return ()
        found = self.fields(table, {"arch": ("arch", one_or_more(text))}, "devices")
        return tuple(arch.lower() for arch in found.get("arch", ()))

    def section(self, root: Table, name: str) -> Table | None:
        """Return a section that is a map; an empty one is None."""
        node = root.values.get(name)
        if node is not None and not isinstance(node, Table):
            self.found.add("E0612", self.place(root.lines[name]), f"section {name} is a map, not {shown(node)}")
            return None
        return node

    def named(self, root: Table, section: str, kind: str, read: Any) -> list[Any]:
        """Return the members of a section, each a map under its name."""
        table = self.section(root, section)
        members = []
        for name, node in table.values.items() if table is not None else ():
            line = table.lines[name] if table is not None else 0
            if isinstance(node, Table):
                members.append(read(name, node, line))
            else:
                self.found.add("E0612", self.place(line, f"{kind} '{name}'"), f"a {kind} is a map of fields, not {shown(node)}")
        return members

    def queue(self, name: str, table: Table, line: int) -> BudaQueue:
        """Return a queue.  Of the addresses only those of its location count."""
        values = self.fields(table, QUEUE, f"queue '{name}'")
        spaces = {space: values.pop(space) for space in ("dram", "host") if space in values}
        if spaces:
            values["addresses"] = spaces.get(values.get("loc", ""), next(iter(spaces.values())))
        return BudaQueue(name, **values, lines=_with_own(table, line))

    def graph(self, name: str, table: Table, line: int) -> BudaGraph:
        """Return a graph: its fields, and its ops, which are all the maps in it."""
        ops = {key: node for key, node in table.values.items() if isinstance(node, Table)}
        rest = Table(table.line, {key: node for key, node in table.values.items() if key not in ops}, table.lines)
        values = self.fields(rest, GRAPH, f"graph '{name}'")
        members = tuple([self.op(key, node, table.lines[key]) for key, node in ops.items()])
        return BudaGraph(name, **values, ops=members, lines=_with_own(table, line))

    def op(self, name: str, table: Table, line: int) -> BudaOp:
        """Return an op of a graph."""
        what = f"op '{name}'"
        values: dict[str, Any] = {}
        for key, node in table.values.items():
            entry = OP.get(key)
            if entry is not None:
                value = self.convert(entry[1], node, key, table.lines[key], what)
                if value is not None:
                    values[entry[0]] = value
            else:
                self.per_input(key, node, table, values, what, OP)
        return BudaOp(name, **values, lines=_with_own(table, line))

    def per_input(self, key: str, node: Node, table: Table, values: dict[str, Any], what: str, spec: Fields) -> None:
        """A field of one input, such as `input_0_tms`, or one that does not exist."""
        match = PER_INPUT.fullmatch(key)
        if match is None or (spec is SUB_OP and match[2] != "tms"):
            self.unknown(key, (*spec, "input_0_tms", "input_1_tms"), table, what)
            return
        name, convert = INPUT_FIELDS[match[2]]
        value = self.convert(convert, node, key, table.lines[key], what)
        if value:
            values.setdefault(name, {})[int(match[1])] = value

    def programs(self, root: Table) -> dict[str, BudaProgram]:
        """Return the programs: a list of maps with one program each."""
        node = root.values.get("programs")
        if node is None:
            return {}
        if not isinstance(node, Items):
            self.found.add("E0612", self.place(root.lines["programs"]), f"section programs is a list of programs, not {shown(node)}")
            return {}
        programs: dict[str, BudaProgram] = {}
        for member, line in zip(node.values, node.lines, strict=True):
            if not isinstance(member, Table):
                self.found.add("E0612", self.place(line), f"a program is a name with a list of instructions, not {shown(member)}")
                continue
            if len(member.values) != 1:
                self.found.add("E0612", self.place(line), f"{len(member.values)} programs in one member of the list: each has its own")
            for name, steps in member.values.items():
                if name in programs:
                    self.found.add("E0601", self.place(member.lines[name], f"program '{name}'"), "there is another program of this name")
                instructions = tuple(read_instructions(self, name, steps, member.lines[name]))
                programs.setdefault(name, BudaProgram(name, instructions, {"": member.lines[name]}))
        return programs

    # ---- fused ops -----------------------------------------------------------------------------------------------------------------

    def fused_op(self, name: str, table: Table, line: int) -> FusedOp:
        """Return a fused op: schedules of sub-ops."""
        what = f"fused op '{name}'"
        rest = Table(table.line, {key: node for key, node in table.values.items() if key != "schedules"}, table.lines)
        values = self.fields(rest, {**FUSED, "schedules": ("schedules", plain)}, what)
        schedules = tuple([self.schedule(node, table, what) for node in self.members(table.values.get("schedules"), table, what)])
        return FusedOp(name, **values, schedules=schedules, lines=_with_own(table, line))

    def members(self, node: Node, table: Table, what: str) -> list[Node]:
        """Members of a list under `schedules`."""
        if isinstance(node, Items):
            return node.values
        if "schedules" in table.values:
            line = table.lines["schedules"]
            self.found.add("E0615", self.place(line, what), f"schedules takes a list of lists of sub-ops, not {shown(node)}")
        return []

    def schedule(self, node: Node, table: Table, what: str) -> tuple[SubOp, ...]:
        """Return one schedule: a list of maps {name: sub-op}."""
        found: list[SubOp] = []
        for member in self.members(node, table, what):
            if not isinstance(member, Table):
                self.members(member, table, what)
                continue
            for name, fields in member.values.items():
                place = f"{what}: sub-op '{name}'"
                if isinstance(fields, Table):
                    found.append(self.sub_op(name, fields, member.lines[name], place))
                else:
                    self.found.add("E0615", self.place(member.lines[name], place), f"a sub-op is a map of fields, not {shown(fields)}")
        return tuple(found)

    def sub_op(self, name: str, table: Table, line: int, what: str) -> SubOp:
        """Return a sub-op of a fused op."""
        values: dict[str, Any] = {}
        for key, node in table.values.items():
            entry = SUB_OP.get(key)
            if entry is None:
                self.per_input(key, node, table, values, what, SUB_OP)
                continue
            value = self.convert(entry[1], node, key, table.lines[key], what)
            if value is not None:
                values[entry[0]] = value
        return SubOp(name, **values, lines=_with_own(table, line))


def _written_again(key: str, first: int) -> str:
    """Return what a warning says of a field that stands in a map again."""
    counts = "the first counts" if key in FIRST else "both count" if TMS.fullmatch(key) or key == "attributes" else "the last counts"
    return f"'{key}' is written again, after line {first}: {counts}"


def _with_own(table: Table, line: int) -> dict[str, int]:
    """Return the lines of a map's keys, with that of its name under ""."""
    table.lines[""] = line
    return table.lines

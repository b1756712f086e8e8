"""What the readers of all parts of a netlist share: fields of maps, and faults with their places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.document import Document, Node, Table
from ttc.dialects.netlist.buda.faults import Faults
from ttc.dialects.netlist.buda.reader_fields import Fields
from ttc.dialects.netlist.buda.reader_values import Convert

SHORT = 3


@record(frozen=False)
class FieldReader:
    """Reads fields of maps of one document; faults are added to `found`."""

    document: Document
    found: Faults = field(default_factory=Faults)

    def place(self, line: int, what: str = "") -> str:
        """Return where a fault lies, as `file:line: what`."""
        return f"{self.document.name}:{line}" + (f": {what}" if what else "")

    def unknown(self, key: str, known: Iterable[str], table: Table, what: str) -> None:
        """A key that is no field.  What it seems to misspell does not count as missing."""
        known = list(known)
        hint = self.found.nearest(key, known)
        self.found.add("E0613", self.place(table.lines[key], what), f"there is no field '{key}'", hint)
        meant = re.fullmatch(r"did you mean '(.*)'\?", hint or "")
        short = [name for name in known if len(name) <= SHORT and len(key) <= SHORT + 1]  # too short for `nearest` to tell
        for name in [meant[1]] if meant else known if hint is None else short:
            table.lines.setdefault(name, table.lines[key])

    def convert(self, convert: Convert, node: Node, key: str, line: int, what: str) -> Any:
        """Convert a node to a value; None, and a fault is recorded, where the field does not take it."""
        try:
            return convert(node)
        except ValueError as error:
            code = "E0623" if key.endswith("tms") else "E0614" if node is None else "E0615"
            self.found.add(code, self.place(line, what), f"{key} {error}")
            return None

    def fields(self, table: Table, spec: Fields, what: str) -> dict[str, Any]:
        """Return the fields of a map that the spec knows; those it does not know are faults."""
        values: dict[str, Any] = {}
        for key, node in table.values.items():
            entry = spec.get(key)
            if entry is None:
                self.unknown(key, spec, table, what)
                continue
            value = self.convert(entry[1], node, key, table.lines[key], what)
            if value is not None:
                values[entry[0]] = value
        return values

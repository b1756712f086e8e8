"""Targets from descriptor files: SoC descriptors in Tenstorrent's form, or fields of a target over those of its architecture."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import yaml

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines import soc

MAX_FILE_BYTES = 1 << 16
"""The largest descriptor file that is read: real ones take a few thousand bytes, and the parser is slow."""
MAX_DEPTH = 16
CLUSTER = ("chips_with_mmio", "ethernet_connections")


class _Loader(yaml.SafeLoader):
    """YAML without anchors, duplicate keys and deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent) or getattr(self.peek_event(), "anchor", None) is not None:
            raise yaml.constructor.ConstructorError(None, None, "anchors and aliases are not allowed", self.peek_event().start_mark)
        if self.depth >= MAX_DEPTH:
            raise yaml.constructor.ConstructorError(None, None, "it nests too deep", self.peek_event().start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found = super().construct_mapping(node, deep)
        if len(found) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a mapping holds a key twice", node.start_mark)
        return found


def read_fields(path: str) -> tuple[dict[str, Any], int | None]:
    """Return fields of the target that a file describes, and the number of its workers, harvested ones included, if it lists them.

    The target is called as the file is, unless the file names it.  Raises E0102 for a file that cannot be read or is no YAML mapping,
    E0101 for a field of an SoC descriptor that is missing, unknown or out of its range, and for a cluster.
    """
    file = Path(path)
    raw = read_document(file)
    if any(key in raw for key in CLUSTER):
        raise Error("E0101", "it describes a cluster, not a chip", where=path, hint="a cluster goes with --cluster")
    name = re.sub(r"[^A-Za-z0-9_.+-]", "_", file.stem)[:64].lstrip(".+-") or "file"
    if soc.is_soc(raw):
        return soc.fields_of(raw, name, path)
    return {"name": name, "chips": 1} | raw, None


def read_document(file: Path) -> dict[Any, Any]:
    """The mapping that a descriptor file holds.  Raises E0102 for a file that cannot be read, is too large or holds no such thing."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe would never end
            raise Error("E0102", f"{file} is not a regular file")
        with file.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise Error("E0102", f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_FILE_BYTES:
        raise Error("E0102", f"{file} is larger than {MAX_FILE_BYTES >> 10} KiB: it is no descriptor of a target")
    try:
        raw = yaml.load(data.decode("utf-8"), _Loader)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:  # PyYAML lets them all through
        reason = " ".join(str(error).split())[:200]
        raise Error("E0102", f"{file} is not a descriptor in YAML: {reason}") from None
    if not isinstance(raw, dict):
        raise Error("E0102", f"{file} is no descriptor of a target: it holds no fields")
    return raw

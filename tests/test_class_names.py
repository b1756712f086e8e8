"""Names of public classes: each stands in one module, so that a name in a message or a search leads to one class."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("ttc", "dialects", "passes", "runtime")
FOREIGN = (
    "ttc/compat/",
    "ttc/graphs/graph.py",
    "ttc/importers/tf/messages.py",
    "ttc/importers/tflite/model.py",
    "ttc/importers/tflite/schema.py",
)
"""Where classes have the names of other people's interfaces and file formats."""
REPEATED = {"Program": 2, "Queue": 2}
"""What users hold is called as what it stands for in a netlist.  A new class gets a name of its own."""


def is_twin(name: str, path: str) -> bool:
    """Whether a class may share its name: an op, named by the mnemonic that dialects have in common, or a name of a foreign interface."""
    return path.startswith(FOREIGN) or (path.startswith("dialects/") and name.endswith("Op"))


def repeated(sources: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The modules of each public class whose name more than one of them has, from pairs of path and text."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in sources:
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not is_twin(node.name, path):
                found[node.name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_each_public_class_has_a_name_of_its_own() -> None:
    files = (path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py")))
    found = repeated((str(path.relative_to(ROOT)), path.read_text()) for path in files)
    grown = {name: paths for name, paths in found.items() if len(paths) > REPEATED.get(name, 1)}
    assert not grown, "rename the newest"
    assert {name: len(paths) for name, paths in found.items()} == REPEATED, "it holds what is no longer so"


def test_a_repeated_name_is_found_and_twins_are_not() -> None:
    both = "class Same: ...\nclass AddOp: ...\nclass _Own: ...\n"
    sources = [("passes/a.py", both), ("runtime/b.py", both), ("dialects/c.py", both), ("ttc/compat/d.py", both)]
    assert repeated(sources) == {"Same": ["passes/a.py", "runtime/b.py", "dialects/c.py"], "AddOp": ["passes/a.py", "runtime/b.py"]}

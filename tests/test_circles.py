"""No import circles: not between folders that lie beside each other, nor between modules of the native engine.

Every import counts, those inside functions and those for type checkers alone included.  A folder and the folders in it are one here:
`passes/base.py` stands below the passes and `passes/pipeline.py` above them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.test_layers import MAY_IMPORT, ROOT, files, imported

NATIVE = "ttc.runtime.engines.native"


def modules() -> dict[str, Path]:
    """Files of the four floors by the names that they are imported under."""
    found: dict[str, Path] = {}
    for floor in MAY_IMPORT:
        for path in files(floor):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(parts if floor == "ttc" else ("ttc", *parts))] = path
    return found


def graph_of(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """The modules that each module imports, of those given by name."""
    found: dict[str, set[str]] = {}
    for name, source in sources.items():
        targets = imported(ast.parse(source))
        found[name] = {t if t in sources else t.rpartition(".")[0] for t in targets} & sources.keys() - {name}
    return found


def native_sources() -> dict[str, str]:
    """The sources of the native engine's modules by name."""
    return {name: path.read_text() for name, path in modules().items() if name.startswith(f"{NATIVE}.")}


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """The names along one circle; none if there is no circle."""
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def folder_graph(graph: Mapping[str, Iterable[str]], packages: Iterable[str], parent: str) -> dict[str, set[str]]:
    """The folders directly in a package, and which of their neighbours each imports, with all that lies in them."""

    def folder(name: str) -> str:
        return ".".join(name.split(".")[: parent.count(".") + 2])

    inside = {package for package in packages if package.rpartition(".")[0] == parent}
    found: dict[str, set[str]] = {package: set() for package in inside}
    for name, targets in graph.items():
        if folder(name) in inside:
            found[folder(name)] |= {folder(target) for target in targets} & inside - {folder(name)}
    return found


def test_the_rule_itself() -> None:
    sources = {
        "ttc.a.x": "from ttc.b import y",
        "ttc.b.y": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ttc.a.z import Z",
        "ttc.a.z": "import numpy",
    }
    graph = graph_of(sources)
    assert circle(graph) == []
    assert set(circle(folder_graph(graph, ["ttc.a", "ttc.b"], "ttc"))) == {"ttc.a", "ttc.b"}
    sources["ttc.a.z"] = "def f():\n    from ttc.a import x"
    assert set(circle(graph_of(sources))) == {"ttc.a.x", "ttc.b.y", "ttc.a.z"}


def test_no_circle_between_neighbouring_folders() -> None:
    paths = modules()
    graph = graph_of({name: path.read_text() for name, path in paths.items()})
    packages = {name for name, path in paths.items() if path.name == "__init__.py"}
    found = {parent: circle(folder_graph(graph, packages, parent)) for parent in sorted(packages)}
    assert {parent: names for parent, names in found.items() if names} == {}


def test_rooms_of_the_native_engine_import_those_above_them_in_the_page() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    (table,) = re.findall(r"^\| room of .*?\n\n", page, re.MULTILINE | re.DOTALL)
    rooms = [f"{NATIVE}.{name}" for name in re.findall(r"^\| `(\w+)/`", table, re.MULTILINE)]
    found = folder_graph(graph_of(native_sources()), [name for name, path in modules().items() if path.name == "__init__.py"], NATIVE)
    assert sorted(rooms) == sorted(found)
    assert {room: above for place, room in enumerate(rooms) if (above := found[room].difference(rooms[:place]))} == {}


def test_no_circle_between_modules_of_the_native_engine() -> None:
    sources = native_sources()
    assert len(sources) > 100
    assert circle(graph_of(sources)) == []

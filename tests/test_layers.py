"""The four floors: imports only ever point down."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "dialects": {"dialects"},
    "runtime": {"runtime", "dialects"},
    "passes": {"passes", "runtime", "dialects"},
    "ttc": {"ttc", "passes", "runtime", "dialects"},
}


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of modules that any import of a file names, those inside functions and TYPE_CHECKING blocks included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the floor"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def floor_of(name: str) -> str | None:
    """The floor of a module of ours: `ttc` for everything that is none of the other three."""
    first, _, rest = name.partition(".")
    if first != "ttc":
        return None
    second = rest.partition(".")[0]
    return second if second in MAY_IMPORT and second != "ttc" else "ttc"


def violations(source: str, floor: str) -> list[str]:
    names = list(imported(ast.parse(source)))
    wrong = [name for name in names if (target := floor_of(name)) is not None and target not in MAY_IMPORT[floor]]
    return wrong + [name for name in names if name.partition(".")[0] in MAY_IMPORT and name.partition(".")[0] != "ttc"]


def files(floor: str) -> list[Path]:
    return sorted((ROOT / floor).rglob("*.py"))


@pytest.mark.parametrize("floor", MAY_IMPORT)
def test_imports_point_down(floor: str) -> None:
    found = {str(path.relative_to(ROOT)): violations(path.read_text(), floor) for path in files(floor)}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "floor", "wrong"),
    [
        ("from ttc.passes.base import Pass", "runtime", ["ttc.passes.base.Pass"]),
        ("from ttc.runtime import loader", "dialects", ["ttc.runtime.loader"]),
        ("from ttc.options import CompileOptions", "passes", ["ttc.options.CompileOptions"]),
        ("def f():\n    from ttc import api", "passes", ["ttc.api"]),
        ("import dialects.core", "passes", ["dialects.core"]),
        ("from ttc.dialects.core import plain", "runtime", []),
        ("import numpy", "dialects", []),
    ],
)
def test_the_rule_itself(source: str, floor: str, wrong: list[str]) -> None:
    assert violations(source, floor) == wrong


@pytest.mark.parametrize("floor", ["dialects", "passes", "runtime"])
def test_a_bare_import_is_refused(floor: str) -> None:
    with pytest.raises(ImportError, match=f"import ttc.{floor}"):
        __import__(floor)


def test_importers_know_no_xdsl() -> None:
    found = {str(path.relative_to(ROOT)): list(imported(ast.parse(path.read_text()))) for path in files("ttc/importers")}
    assert len(found) > 150
    assert [path for path, names in found.items() if any(name.partition(".")[0] == "xdsl" for name in names)] == []

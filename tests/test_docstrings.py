"""The shape of the code: documentation where people look for it, and nothing too long to read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted(path for floor in ("ttc", "dialects", "passes", "runtime") for path in (ROOT / floor).rglob("*.py"))
MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 400
ROWS = (*(f"ttc/importers/{kind}/ops_" for kind in ("onnx", "torch", "tf", "tflite")), "passes/nn_to_tile/", "passes/tile/expand/functions")
"""Files whose functions are rows of a table, one an op: name and signature are those of the op, and its documentation stands there."""


def undocumented(tree: ast.Module) -> Iterator[str]:
    """Public classes and functions of a module that lack a docstring; of a function with overloads the last one has it."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or any(ast.unparse(d) == "overload" for d in node.decorator_list):
            continue
        if not node.name.startswith("_") and ast.get_docstring(node) is None:
            yield node.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_their_public_names_are_documented(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree) or not tree.body, "the module has no docstring"
    assert list(undocumented(tree)) == [] or str(path.relative_to(ROOT)).startswith(ROWS)


def test_functions_and_files_are_short() -> None:
    long: list[str] = []
    for path in FILES:
        text, name = path.read_text(), str(path.relative_to(ROOT))
        if len(text.splitlines()) > MAX_FILE_LINES:
            long.append(name)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES:
                long.append(f"{name}:{node.lineno} {node.name}")
    assert long == []

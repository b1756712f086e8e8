"""The shape of the code: documentation where people look for it, and nothing too long to read at once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted(path for floor in ("ttc", "dialects", "passes", "runtime") for path in (ROOT / floor).rglob("*.py"))
MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 400
ROWS = (*(f"ttc/importers/{kind}/ops_" for kind in ("onnx", "torch", "tf", "tflite")), "passes/nn_to_tile/", "passes/tile/expand/functions")
"""Files whose functions are rows of a table, one an op: name and signature are those of the op, and its documentation stands there."""
MIN_WORDS = 5
"""The least words of the first sentence of a public docstring: fewer need their neighbour to be understood."""
DEPENDENT = re.compile(
    r"(Of|That of|Those|Its?|They|The same|The one|See|As|And|But|Or|Also"
    r"|So many|Both|Another|Other|Like|What (it|they|that)) "
)
"""Beginnings that refer to another docstring, or to the name beside it."""


def undocumented(tree: ast.Module) -> Iterator[str]:
    """Public classes and functions of a module that lack a docstring; of a function with overloads the last one has it."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef) or any(ast.unparse(d) == "overload" for d in node.decorator_list):
            continue
        if not node.name.startswith("_") and ast.get_docstring(node) is None:
            yield node.name


def sentences(node: ast.Module | ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The first paragraphs of the public docstrings of a module or class: its own, and those of its members and variables, by name."""
    own = ast.get_docstring(node)
    if own is not None:
        yield getattr(node, "name", "module"), first_paragraph(own)
    for before, item in zip([None, *node.body], node.body, strict=False):
        if isinstance(item, ast.ClassDef) and not item.name.startswith("_"):
            yield from sentences(item)
        elif isinstance(item, ast.FunctionDef) and not item.name.startswith("_") and (text := ast.get_docstring(item)):
            yield item.name, first_paragraph(text)
        elif isinstance(before, ast.Assign | ast.AnnAssign) and isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
            names = before.targets if isinstance(before, ast.Assign) else [before.target]
            if isinstance(item.value.value, str) and not ast.unparse(names[0]).startswith(("_", "(_")):
                yield ast.unparse(names[0]), first_paragraph(item.value.value)


def first_paragraph(docstring: str) -> str:
    return " ".join(docstring.strip().partition("\n\n")[0].split())


def dependent(tree: ast.Module) -> list[str]:
    """Public docstrings of a module that nobody understands who sees only them."""
    return [f"{name}: {text}" for name, text in sentences(tree) if DEPENDENT.match(text) or len(text.split()) < MIN_WORDS]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('"""What a stranger understands alone."""', []),
        ('"""Too few words."""', ["module: Too few words."]),
        ('SIZE = 3\n"""Of a tile, which has as many rows."""', ["SIZE: Of a tile, which has as many rows."]),
        ('"""What they hold at this place."""', ["module: What they hold at this place."]),
        ('_SIZE = 3\n"""Of a tile."""', []),
        (
            'class A:\n    """A class with enough words to say."""\n    def f(self):\n        """The same as bytes, in order."""',
            ["f: The same as bytes, in order."],
        ),
        ('def _f():\n    """Of x."""', []),
    ],
)
def test_the_rule_of_sentences(source: str, found: list[str]) -> None:
    assert dependent(ast.parse(source)) == found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_docstrings_stand_alone(path: Path) -> None:
    assert dependent(ast.parse(path.read_text())) == []


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

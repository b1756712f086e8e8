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


def long_functions(tree: ast.Module) -> Iterator[str]:
    """Functions with more lines than one look takes in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES:
            yield f"{node.lineno} {node.name}"


def problems(text: str, name: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a file: (rule, place), for one reading of it as parsing takes most of the time."""
    tree = ast.parse(text)
    yield from (("dependent", f"{name}: {said}") for said in dependent(tree))
    if tree.body and not ast.get_docstring(tree):
        yield "undocumented", f"{name}: module"
    if not name.startswith(ROWS):
        yield from (("undocumented", f"{name}: {public}") for public in undocumented(tree))
    yield from (("long", f"{name}:{place}") for place in long_functions(tree))
    if len(text.splitlines()) > MAX_FILE_LINES:
        yield "long", name


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    """The problems of all files by rule."""
    by_rule: dict[str, list[str]] = {}
    for path in FILES:
        for rule, place in problems(path.read_text(), str(path.relative_to(ROOT))):
            by_rule.setdefault(rule, []).append(place)
    return by_rule


@pytest.mark.parametrize("rule", ["dependent", "undocumented", "long"])
def test_the_tree_keeps_the_rules(found: dict[str, list[str]], rule: str) -> None:
    """Public docstrings stand alone; modules and their public names have one; functions and files are short."""
    assert len(FILES) > 1000
    assert found.get(rule, []) == []


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ('"""Four words, no more."""', "ttc/a.py", [("dependent", "ttc/a.py: module: Four words, no more.")]),
        ("", "ttc/a/__init__.py", []),
        ("def f(): ...\n", "ttc/a.py", [("undocumented", "ttc/a.py: module"), ("undocumented", "ttc/a.py: f")]),
        ("def f(): ...\n", "ttc/importers/onnx/ops_a.py", [("undocumented", "ttc/importers/onnx/ops_a.py: module")]),
        ("def _f():\n" + "    0\n" * MAX_FUNCTION_LINES, "ttc/a.py", [("undocumented", "ttc/a.py: module"), ("long", "ttc/a.py:1 _f")]),
        ("0\n" * (MAX_FILE_LINES + 1), "ttc/a.py", [("undocumented", "ttc/a.py: module"), ("long", "ttc/a.py")]),
        ('"""A module with just the lines a file may have."""\n' + "0\n" * (MAX_FILE_LINES - 1), "ttc/a.py", []),
    ],
)
def test_each_problem_is_found(text: str, name: str, expected: list[tuple[str, str]]) -> None:
    assert list(problems(text, name)) == expected

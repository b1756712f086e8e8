"""Python source as a tree."""

from __future__ import annotations

import pytest

from ttc.exporters.ttnn.code import WIDTH, call, comment, flat, items, literal, numbers, statement


def test_what_fits_is_one_line() -> None:
    assert statement("y = ", call("ttnn.add", "a", "b", memory_config="L1")) == ["    y = ttnn.add(a, b, memory_config=L1)"]


def test_what_does_not_fit_has_an_argument_a_line() -> None:
    lines = statement("y = ", call("ttnn.linear", "x" * 40, "w" * 40, bias=None, shape=numbers((1, 2))))
    assert lines == ["    y = ttnn.linear(", f"        {'x' * 40},", f"        {'w' * 40},", "        shape=(1, 2),", "    )"]


def test_tuples_of_one() -> None:
    assert flat(numbers((3,))) == "(3,)"
    assert flat(items(["a"], "[]")) == "[a]"


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", '"a"'), ('say "so"', "'say \"so\"'"), ("it's", '"it\'s"'), (1e30, "1e30"), (float("inf"), 'float("inf")'), (True, "True")],
)
def test_literals(value: object, text: str) -> None:
    assert literal(value) == text  # pyright: ignore[reportArgumentType]
    assert eval(text) == value


def test_comments_escape_and_wrap() -> None:
    lines = comment("node\nimport os " + "word " * 30)
    assert len(lines) == 3
    assert all(line.startswith("    # ") and len(line) <= WIDTH for line in lines)
    assert lines[0].startswith("    # node\\nimport os word")

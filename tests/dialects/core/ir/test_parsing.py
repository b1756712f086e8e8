"""IR text into modules: whatever the text is, reading it takes bounded time, and fails with its place."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import StringAttr

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.parsing import parse_module


def error(text: str) -> Error:
    with pytest.raises(Error) as caught:
        parse_module(text, "m.mlir")
    return caught.value


def test_strings() -> None:
    module = parse_module(r'builtin.module attributes {a = "x\"\n\41\\", b = ""} {}', "m.mlir")
    assert module.attributes["a"] == StringAttr('x"\nA\\')
    assert module.attributes["b"] == StringAttr("")


@pytest.mark.parametrize("size", [40, 1_000_000])
def test_a_string_without_end(size: int) -> None:
    found = error('builtin.module attributes {a = "' + "x" * size + "} {}\n")
    assert (found.code, found.where) == ("E0301", "m.mlir:1:32")


@pytest.mark.parametrize(
    ("text", "where"),
    [("", "m.mlir:1:1"), ("\n\n", "m.mlir:3:1"), ("builtin.module {\n", "m.mlir:2:1"), ("\u2028\x0c\nz.z", "m.mlir:1:1")],
)
def test_places(text: str, where: str) -> None:
    found = error(text)
    assert (found.code, found.where) == ("E0301", where)


def test_deep_nesting() -> None:
    assert error("builtin.module {" * 20_000).code == "E0301"


@pytest.mark.parametrize("value", ["0 : i99999999999", "0 : i65", "0 : i0", "array<i100>", "dense<1> : tensor<2xsi1048576>"])
def test_integers_of_other_widths(value: str) -> None:
    """xDSL computes the range of any width, and has no bytes for most."""
    assert error(f"builtin.module attributes {{a = {value}}} {{}}").code == "E0301"


def test_the_widest_integers() -> None:
    module = parse_module("builtin.module attributes {a = 18446744073709551615 : ui64, b = array<i64: -1>, c = true} {}", "m.mlir")
    assert list(module.attributes) == ["a", "b", "c"]

"""Expressions of sizes in `.pt2` archives, as sympy writes them; nothing else passes."""

from __future__ import annotations

import pytest

import ttc
from ttc.importers.torch.pt2_symbols import check_expression, check_symbol


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("Symbol('s0', integer=True)", ""),
        ("__import__('os').system('true')", "E0203"),
        ("(lambda: 0)()", "E0203"),
        ("9**9**9**9", "E0203"),
        ("Symbol('s0').__class__", "E0203"),
        ("S('print(1)')", "E0203"),
        ("[x for x in (1,)]", "E0203"),
        ("-" * 4000 + "1", "E0203"),
        ("Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(1))", ""),
        ("Pow(Symbol('s0', integer=True), Integer(2))", ""),
        ("Pow(Symbol('s0', integer=True), Integer(99))", "E0203"),
    ],
)
def test_expressions(expression: str, code: str) -> None:
    if not code:
        check_expression(expression)
        return
    with pytest.raises(ttc.Error) as caught:
        check_expression(expression)
    assert caught.value.code == code


def test_symbols() -> None:
    check_symbol("s77")
    for name in ("os", "s", "s0x", "__s0", "u99999999999"):
        with pytest.raises(ttc.Error, match="no symbol"):
            check_symbol(name)

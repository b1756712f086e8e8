"""How text of others is shown."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from xdsl.dialects import builtin

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.shown import ir_escaped, shown, shown_lines

HOSTILE = 'a\nerror[E0901]: b\r\x1b[31m\x07\x85\u2028\u2029\u202e\u2066\u200b\ufeff\u00a0\x7f\t"\\\U000e0001'


def test_what_is_escaped() -> None:
    assert shown("plain é 中 /x.y") == "plain é 中 /x.y"
    assert shown("a\n\r\x1b[31m\u2028\u202e\x85\t") == "a\\n\\r\\x1b[31m\\u2028\\u202e\\x85\\t"
    assert shown("\ud800") == "\\ud800"
    assert shown_lines("a\u2028\nb\r") == "a\\u2028\nb\\r"


def test_every_control_and_format_character_is() -> None:
    wrong = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c in shown(c)]
    assert wrong == []


def test_errors_are_of_the_lines_that_they_have() -> None:
    error = Error("E0201", f"m{HOSTILE}", where=f"w{HOSTILE}", hint=f"h{HOSTILE}", context=f"c{HOSTILE}", excerpt="x\ny\r")
    lines = str(error).splitlines()
    assert [line[:6] for line in lines] == ["error[", "  x", "  y\\r", "  in c", "hint: "]
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("text", [HOSTILE, "plain é 中", ""])
def test_names_in_ir_are_escaped_and_read_back(text: str) -> None:
    module = builtin.ModuleOp([], {"ttc.x": builtin.StringAttr(text)})
    module.location = builtin.NameLoc(builtin.StringAttr(text), builtin.NoneAttr())
    printed = print_op(module)
    assert all(line.isprintable() for line in printed.split("\n"))
    again = parse_module(printed, "t.mlir")
    assert again.attributes["ttc.x"] == builtin.StringAttr(text)
    assert again.location == module.location
    assert print_op(again) == printed


def test_any_text_comes_back_from_ir() -> None:
    rng = np.random.default_rng(17)
    for _ in range(100):
        text = "".join(chr(c) for c in rng.integers(0, 0x3000, 12))
        module = parse_module(f'builtin.module attributes {{ttc.x = "{ir_escaped(text)}"}} {{}}', "t.mlir")
        assert module.attributes["ttc.x"] == builtin.StringAttr(text)

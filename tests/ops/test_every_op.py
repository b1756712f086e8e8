"""Every op of nn and tile: its documentation speaks of all its fields, its kernel takes them, and a test makes one."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path

import pytest

from ttc.dialects.core.ir.adapter import TtcOp
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.nn.base import dialect as nn
from ttc.dialects.tile import base
from ttc.dialects.tile.base import dialect as tile

ROOT = Path(__file__).resolve().parents[2]
OPS = [op for dialect in (nn(), tile()) for op in dialect.operations if issubclass(op, TtcOp)]
COMPUTING = [op for op in OPS if op.get_irdl_definition().results and not op.get_irdl_definition().regions]
MADE = re.compile(r'\b(?:\w+Op\b|(?:nn|tile)\.\w+(?=\()|twin\("\w+"\))')
"""How a test makes an op: by its class, in the text of IR, or, of an op of tile that is like one of nn, as its twin."""


@cache
def made() -> set[str]:
    """What other tests make."""
    texts = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path.stem != "test_every_op")
    return {found for text in texts for found in MADE.findall(text)}


def attributes(op: type[TtcOp]) -> list[str]:
    """Names of the op's own attributes."""
    return [name for name in op.get_irdl_definition().properties if not name.endswith("SegmentSizes")]


def described_names(op: type[TtcOp], title: str) -> list[str]:
    """Names that a section of the documentation of an op explains (`x: ...`, `h, c: ...`), in its order."""
    text = inspect.cleandoc(vars(op)["__doc__"])
    section = re.search(rf"^{title}:(.*?)(?=^(?:Returns|Raises|Source):|\Z)", text, re.MULTILINE | re.DOTALL)
    lists = re.findall(r"(\w+(?:, \w+)*):\s", section[1]) if section else []
    return [name for names in lists for name in names.split(", ")]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_documentation_speaks_of_every_field(op: type[TtcOp]) -> None:
    text, definition = inspect.cleandoc(vars(op)["__doc__"]), op.get_irdl_definition()
    sections = re.findall(r"^(Args|Returns|Raises|Source): ", text, re.MULTILINE)
    wanted = [*(["Args"] if definition.operands else []), *(["Returns"] if definition.results else [])]
    assert sections[: len(wanted)] == wanted
    assert "Source" in sections or not op.name.startswith("nn.")
    fields = [name for name, _ in (*definition.operands, *definition.results)]
    assert [name for name in (*fields, *attributes(op)) if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_operands_and_results_are_declared_in_the_order_in_which_they_are_described(op: type[TtcOp]) -> None:
    """A name finds its value by its place among the declarations, where those of a base class come after the class's own."""
    definition = op.get_irdl_definition()
    for title, fields in (("Args", definition.operands), ("Returns", definition.results)):
        declared = [name for name, _ in fields]
        described = [name for name in described_names(op, title) if name in declared]
        assert list(dict.fromkeys(described)) == declared


@pytest.mark.parametrize("op", COMPUTING, ids=lambda op: op.name)
def test_the_kernel_takes_operands_in_their_order(op: type[TtcOp]) -> None:
    taken = inspect.signature(kernel(op.name)).parameters
    declared = [name for name, _ in op.get_irdl_definition().operands if name in taken]
    assert [name for name in taken if name in declared] == declared


@pytest.mark.parametrize("op", COMPUTING, ids=lambda op: op.name)
def test_the_kernel_takes_every_field(op: type[TtcOp]) -> None:
    operands = [None for _ in op.get_irdl_definition().operands]
    inspect.signature(kernel(op.name)).bind(*operands, **dict.fromkeys(attributes(op)))


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_a_test_makes_one(op: type[TtcOp]) -> None:
    names = {f'twin("{op.name.removeprefix("tile.")}")'} if op.__module__ == base.__name__ else {op.__name__, op.name}
    assert names & made()


def test_ways_to_make_an_op() -> None:
    text = '%0 = nn.relu(%x) ReluOp(x) AReluOp twin("relu") nn.exp of nn.log, nntwin("exp")'
    assert MADE.findall(text) == ["nn.relu", "ReluOp", "AReluOp", 'twin("relu")']

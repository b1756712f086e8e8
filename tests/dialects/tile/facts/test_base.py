"""Each tile op has one fact, and the op in IR is what its fact says."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
from xdsl.irdl import OptPropertyDef

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.tile.base import TileOp, ops
from ttc.dialects.tile.facts import fact_of, facts, moves
from ttc.dialects.tile.facts.base import BOOL, FACTS, FLOAT, INT, INTS, STR, STRS, VALUES, Attr, Role, fact, optional


def test_facts_are_of_the_ops_that_there_are() -> None:
    assert set(facts()) == set(ops())


@pytest.mark.parametrize("mnemonic", sorted(ops()))
def test_a_rule_takes_the_operands_and_attributes_of_its_op(mnemonic: str) -> None:
    definition, found = ops()[mnemonic].get_irdl_definition(), facts()[mnemonic]
    parameters = inspect.signature(found.shape).parameters.values()
    operands = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    required = {p.name: p.default is p.empty for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert operands == [name for name, _ in definition.operands]
    assert required.keys() == found.attrs.keys()
    assert all(required[name] or attr.optional or mnemonic == "resize_by" for name, attr in found.attrs.items())
    properties = {name: isinstance(p, OptPropertyDef) for name, p in definition.properties.items() if name in found.attrs}
    assert properties == {name: attr.optional for name, attr in found.attrs.items()}


def test_an_op_without_a_fact_cannot_be_defined() -> None:
    with pytest.raises(Error) as error:
        type("NothingOp", (TileOp,), {"name": "tile.nothing"})
    assert error.value.code == "E0901"
    with pytest.raises(Error) as error:
        fact_of("tile.nothing")
    assert error.value.code == "E0901"


def test_an_op_has_one_fact() -> None:
    with pytest.raises(Error) as error:
        FACTS.add("softmax", facts()["softmax"])
    assert error.value.code == "E0901"


@pytest.mark.parametrize("role", [Role.CONTRACTION, Role.WINDOW, Role.SAMPLING, Role.RECURRENT])
def test_products_say_how_their_arithmetic_is_counted(role: Role) -> None:
    with pytest.raises(Error) as error:
        fact(role)(lambda x: x)
    assert error.value.code == "E0901"


@pytest.mark.parametrize(
    ("attr", "accepted", "refused"),
    [
        (INT, [0, -7], [True, 1.0, "1", (1,), 1 << 60, None]),
        (BOOL, [True], [1, None]),
        (FLOAT, [1.5, 2], [True, "1", 1 << 60]),
        (STR, ["r"], [1, ("r",)]),
        (INTS, [(), (1, 2)], [1, (1, True), (1.0,), [1]]),
        (STRS, [("a",)], ["a", (1,)]),
        (VALUES, [(1, "a", 2.0)], [1, "a"]),
        (optional(INT), [3, None], ["3"]),
    ],
)
def test_kinds_of_attributes(attr: Attr, accepted: list[object], refused: list[object]) -> None:
    assert all(attr.accepts(value) for value in accepted)  # pyright: ignore[reportArgumentType]
    assert not any(attr.accepts(value) for value in refused)  # pyright: ignore[reportArgumentType]


def test_a_scatter_that_combines_does_not_only_move() -> None:
    for reduction, expected in (("none", True), ("add", False)):
        assert moves(Work("tile.scatter_nd", (0, 1, 2), {"reduction": reduction}, (TensorType((4,), "Float32"),))) is expected
    assert not moves(Work("nn.reshape", (0,), {"shape": (4,)}, (TensorType((4,), "Float32"),)))


def test_what_is_done_in_transit_moves_or_converts() -> None:
    assert {name for name, found in facts().items() if found.in_transit} == {
        *(name for name, found in facts().items() if found.role is Role.VIEW),
        *("pad", "retile", "adjust"),
    }
    assert {name for name, found in facts().items() if found.bijective} == {"reshape", "transpose", "hslice", "hstack", "relayout"}


def test_a_fact_is_found_without_those_of_other_families() -> None:
    code = (
        "import sys\nfrom ttc.dialects.tile.facts import fact_of, facts, is_fact\n"
        "assert fact_of('softmax').passes == 3 and not is_fact('nn.softmax') and not is_fact('tile.nothing')\n"
        "assert 'ttc.dialects.tile.facts.conv' not in sys.modules\n"
        "found = {name for name in facts()}\n"
        "assert {fact_of(name).shape.__name__.rstrip('_') for name in found} == found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""Each table of rules has exactly one for each op, and says so when one is taken out."""

from __future__ import annotations

from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.tile.facts import facts
from ttc.dialects.tile.facts.base import Role
from ttc.dialects.tile.facts.role_tables import RoleTable
from ttc.passes.tile_to_netlist.buffers import BUFFERS
from ttc.runtime.perf.primitives import WORKS
from ttc.runtime.perf.reads import PARTS

TABLES: dict[str, RoleTable[Any]] = {"works": WORKS, "parts": PARTS, "buffers": BUFFERS}


def of_roles(*roles: Role) -> set[str]:
    return {name for name, fact in facts().items() if fact.role in roles and not fact.rows_only}


@pytest.mark.parametrize("name", TABLES)
def test_every_op_has_one_rule(name: str) -> None:
    assert TABLES[name].missing() == set()
    assert TABLES[name].unused() == set()


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, table in TABLES.items() for key in table.rules], ids=str)
def test_a_rule_that_is_taken_out_is_missed(name: str, key: str | Role, monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLES[name]
    monkeypatch.delitem(table.rules, key)
    missing = table.missing()
    assert missing == ({key} if isinstance(key, str) else of_roles(key))
    for op in missing:
        with pytest.raises(Error) as error:
            table.of(op)
        assert error.value.code == "E0901"


def test_an_op_that_does_not_exist_is_an_error_of_its_netlist() -> None:
    with pytest.raises(Error) as error:
        WORKS.of("softmaxx")
    assert (error.value.code, error.value.hint) == ("E0302", "did you mean 'softmax'?")


def test_a_second_rule_is_refused() -> None:
    table: RoleTable[int] = RoleTable("numbers")
    table.rule("matmul")(1)
    with pytest.raises(Error) as error:
        table.rule("matmul")(2)
    assert error.value.code == "E0901"
    table.rule(Role.CONTRACTION)(3)
    table.rule("nothing")(4)
    assert table.unused() == {"matmul", "nothing"}

"""Small netlists, and what is found in them after some changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from ttc.dialects.netlist.buda.reader import read_form
from ttc.dialects.netlist.buda.rules.check import check_form
from ttc.dialects.netlist.violations import Violation

NETLISTS = Path(__file__).resolve().parents[3] / "data" / "netlists"
Broken: TypeAlias = Callable[..., list[Violation]]


def changed(name: str, *changes: tuple[str, str]) -> str:
    """The text of a small netlist with each first text, which stands there once, replaced by the second."""
    text = (NETLISTS / "small" / f"{name}.yaml").read_text()
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        text = text.replace(old, new)
    return text


@pytest.fixture
def broken() -> Broken:
    """broken(name, *changes, arch=None): the violations of a changed netlist, called `n`."""

    def find(name: str, *changes: tuple[str, str], arch: str | None = None) -> list[Violation]:
        form, found = read_form(changed(name, *changes).encode(), "n")
        return found + check_form(form, arch, found)

    return find


@pytest.fixture
def only(broken: Broken) -> Callable[..., None]:
    """only(name, change, code, place, part): the change breaks one rule, told at the place with the part in its message."""

    def check(name: str, changes: tuple[tuple[str, str], ...] | tuple[str, str], code: str, place: str, part: str) -> None:
        pairs = (changes,) if isinstance(changes[0], str) else changes
        found = broken(name, *pairs)
        assert {violation.code for violation in found} == {code}, found
        assert any(violation.where.partition(": ")[2].startswith(place) and part in violation.message for violation in found), found

    return check

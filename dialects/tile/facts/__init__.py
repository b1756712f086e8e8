"""What each tile op is: result shapes, role, arithmetic, attributes.  Plain Python, so that the runtime asks it without xDSL.

The files have the stems of those in `ttc.dialects.tile`, which define the ops in IR.
"""

from __future__ import annotations

from collections.abc import Mapping

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.tile.facts.base import FACTS, Fact, Role

SCATTERED_AS_IS = "none"
"""The `reduction` of a scatter that replaces elements instead of combining them."""


def facts() -> Mapping[str, Fact]:
    """Return the facts of all tile ops by mnemonic."""
    return FACTS.rules()


def find(op: str) -> Fact | None:
    """Return the fact of an op by its full name; None for one that is no tile op."""
    name = op.removeprefix("tile.")
    return FACTS.get(name) if name != op else None


def fact_of(op: str) -> Fact:
    """Return the fact of a tile op, by mnemonic or full name.  Raises E0901 for an op without one."""
    found = find(f"tile.{op.removeprefix('tile.')}")
    if found is None:
        raise Error("E0901", f"nothing is stated about the op '{op}'", hint="`dialects/tile/facts` says what tile ops are")
    return found


def is_fact(op: str) -> bool:
    """Return whether something is stated about an op, by its full name."""
    return find(op) is not None


def moves(work: Work) -> bool:
    """Return whether a tile op moves elements and computes none: a scatter that combines what it meets computes."""
    return is_fact(work.op) and fact_of(work.op).moves and work.attrs.get("reduction", SCATTERED_AS_IS) == SCATTERED_AS_IS


def has_role(op: str, *roles: Role) -> bool:
    """Return whether an op, by its full name, is a tile op of one of the roles."""
    return is_fact(op) and fact_of(op).role in roles


def rearranges(op: str) -> bool:
    """Return whether an op, by its full name, is a tile op after which tiles stand in another order."""
    return is_fact(op) and fact_of(op).rearranges


def is_bijective(op: str) -> bool:
    """Return whether an op, by its full name, is a tile op that keeps every element of its operand once."""
    return is_fact(op) and fact_of(op).bijective


def in_transit(op: str) -> bool:
    """Return whether an op, by its full name, is a tile op that cores do as they read an operand or pack a result."""
    return is_fact(op) and fact_of(op).in_transit

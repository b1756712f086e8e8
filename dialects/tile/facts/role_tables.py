"""Tables of rules for tile ops: by op, or for all ops of a role.  There is no default: an op without a rule is an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.tile.facts import fact_of, facts
from ttc.dialects.tile.facts.base import Fact, Role

R = TypeVar("R")


class RoleTable(Generic[R]):
    """Rules by mnemonic or role: one for each op that devices have a kernel for.

    Args:
        what: the rules say, for errors.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.rules: dict[str | Role, R] = {}

    def rule(self, *keys: str | Role) -> Callable[[R], R]:
        """Register the decorated rule for ops and roles.  Raises E0901 for one that has a rule already."""

        def registered(rule: R) -> R:
            for key in keys:
                if key in self.rules:
                    raise Error("E0901", f"there are two rules of {self.what} of '{key}'")
                self.rules[key] = rule
            return rule

        return registered

    def of(self, op: str) -> R:
        """Return the rule of an op, by its mnemonic.

        Raises: E0302 for an op that does not exist, E0503 for one that no device has a kernel for, E0901 for one without a rule.
        """
        if op not in facts():
            raise Error("E0302", f"there is no op 'tile.{op[:60]}'", hint=nearest(op[:60], facts()))
        if not _on_devices(fact_of(op)):
            raise Error("E0503", f"no core computes tile.{op}")
        found = self.rules.get(op, self.rules.get(fact_of(op).role))
        if found is None:
            raise Error("E0901", f"there is no rule of {self.what} of tile.{op}")
        return found

    def missing(self) -> set[str]:
        """Return ops that lack a rule."""
        needed = {name for name, found in facts().items() if _on_devices(found)}
        return {name for name in needed if name not in self.rules and facts()[name].role not in self.rules}

    def unused(self) -> set[str | Role]:
        """Return keys that stand for no op of devices, and ops whose role has a rule besides."""
        roles = {name: found.role for name, found in facts().items() if _on_devices(found)}
        alone = {name for name, role in roles.items() if role not in self.rules}
        return self.rules.keys() - alone - {role for name, role in roles.items() if name not in self.rules}


def _on_devices(found: Fact) -> bool:
    return not found.rows_only and found.role is not Role.TERMINATOR

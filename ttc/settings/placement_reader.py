"""Rules of placement from where they are written: a TOML file, its tables, or the texts that IR and archives record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttc.dialects.core.errors import Error

if TYPE_CHECKING:
    from ttc.dialects.core.rules.placement import AnyRule

PLACEMENT_KEY = "placement"
"""The array of tables that holds rules of placement, in a file of their own or in that of --config."""
MAX_RULES = 4096


def read_placement(raw: Any) -> tuple[AnyRule, ...]:
    """Return rules of placement from the path of a TOML file, from its tables, from their texts, or from rules. Raises E0101, E0102."""
    from ttc.dialects.core.rules.placement import PlacementRule, QueueRule, rule_of, rule_of_text

    if isinstance(raw, str | Path):
        return _placement_file(Path(raw))
    if not isinstance(raw, list | tuple):
        raise ValueError("it takes a TOML file")
    if len(raw) > MAX_RULES:
        raise ValueError(f"it takes at most {MAX_RULES} rules")
    found: list[AnyRule] = []
    for number, item in enumerate(raw, 1):
        known = isinstance(item, PlacementRule | QueueRule)
        found.append(item if known else rule_of_text(item) if isinstance(item, str) else rule_of(item, f"placement rule {number}"))
    return tuple(found)


def _placement_file(path: Path) -> tuple[AnyRule, ...]:
    """Return the rules of a TOML file.  Raises E0101 unless it holds rules of placement, and no other table alone."""
    from ttc.inputs.files import rules_table

    found = rules_table(path, PLACEMENT_KEY, "placement")
    try:
        return read_placement(found)
    except Error as error:
        error.where = f"{path}: {error.where}" if error.where else str(path)
        raise
    except ValueError as error:
        raise Error("E0101", f"'{PLACEMENT_KEY}' is no array of tables: {error}", where=str(path), hint="write [[placement]]") from None

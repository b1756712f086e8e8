"""Rules of precision from where they are written: a TOML file, its tables, or the texts that IR and archives record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttc.dialects.core.errors import Error

if TYPE_CHECKING:
    from ttc.dialects.core.rules.precision import PrecisionRule

RULES_KEY = "precision"
"""The array of tables that holds rules of precision, in a file of their own or in that of --config."""


def read_rules(raw: Any) -> tuple[PrecisionRule, ...]:
    """Return rules of precision from the path of a TOML file, from its tables, from their texts, or from rules. Raises E0101, E0102."""
    from ttc.dialects.core.rules.precision import PrecisionRule

    if isinstance(raw, str | Path):
        return _rules_file(Path(raw))
    if not isinstance(raw, list | tuple):
        raise ValueError("it takes a TOML file")
    found: list[PrecisionRule] = []
    for number, item in enumerate(raw, 1):
        found.append(
            item
            if isinstance(item, PrecisionRule)
            else PrecisionRule.of_text(item)
            if isinstance(item, str)
            else PrecisionRule.of(item, f"rule {number}")
        )
    return tuple(found)


def _rules_file(path: Path) -> tuple[PrecisionRule, ...]:
    """Return the rules of a TOML file.  Raises E0101 unless it holds rules, and no other table alone."""
    from ttc.inputs.files import rules_table

    found = rules_table(path, RULES_KEY, "precision")
    try:
        return read_rules(found)
    except Error as error:
        error.where = f"{path}: {error.where}" if error.where else str(path)
        raise
    except ValueError:
        raise Error("E0101", f"'{RULES_KEY}' is no array of tables", where=str(path), hint=f"write [[{RULES_KEY}]]") from None

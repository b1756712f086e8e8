"""Rules of precision as a TOML file that `ttc compile --precision-file` reads."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ttc.dialects.core.rules.precision import PATTERNS, PrecisionRule
from ttc.settings.precision_reader import RULES_KEY


def document(rules: Sequence[PrecisionRule], remarks: Sequence[str]) -> str:
    """Return the file's text.  remarks: lines of comment in front."""
    head = [f"# {' '.join(line.split())}" for line in remarks]
    return "\n\n".join(["\n".join(head), *map(_table, rules)]) + "\n"


def _table(rule: PrecisionRule) -> str:
    patterns = {key: getattr(rule, key) for key in PATTERNS}
    entries = {key: value for key, value in patterns.items() if value != "*"} | rule.settings
    return "\n".join([f"[[{RULES_KEY}]]", *(f"{key} = {_string(value)}" for key, value in entries.items())])


def _string(value: str) -> str:
    """Return a basic string of TOML, whose escapes are those of JSON but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

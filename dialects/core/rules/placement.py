"""What users ask of the placement of single ops: where epochs begin, grids, places, blocks.

A rule matches ops by kind and by source name, both shell patterns, or regular expressions after `re:`.  Rules apply in order: a later
one overrides an earlier one, setting by setting.  They come from TOML, as tables `[[placement]]`; a table with a key `queue` is about
queues instead (`queue_rules`).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.patterns import checked, fits
from ttc.dialects.core.rules.queues import QueueRule

POLICIES = ("balanced", "fastest", "smallest")
"""How an op takes cores: as the whole run is shortest; as many as make it faster; as few as it fits."""
STREAMS = ("r", "c", "none")
MAX_SIZE = 1 << 16
"""The largest number in a rule of placement."""


@record
class PlacementRule:
    """A rule of placement: what all ops that match it get; None leaves a choice to the compiler.

    Args:
        op: pattern of what an op is called: the mnemonic of its main tile op, or `fused`.
        name: pattern of one of its source names, such as `/layer1/*`.
        epoch_break, chip_break: an epoch, or the part of another chip, begins with each op that matches while the one before it does not.
        grid: rows and columns of cores, as the op's blocks see them.
        start: row and column of its first core.
        transpose: whether the grid lies on its side.
        stream: what one core's share may be cut along where it does not fit L1: its rows `r`, its columns `c`, or `none`.
        u_kt: tiles of the inner dimension that a product takes at a time.
        buffer: microbatches, at least, that L1 holds of each input that comes from another op.
        policy: one of POLICIES.
    """

    op: str = "*"
    name: str = "*"
    epoch_break: bool | None = None
    chip_break: bool | None = None
    grid: tuple[int, int] | None = None
    start: tuple[int, int] | None = None
    transpose: bool | None = None
    stream: str | None = None
    u_kt: int | None = None
    buffer: int | None = None
    policy: str | None = None

    def matches(self, kind: str, names: Sequence[str]) -> bool:
        """Return whether the rule is about an op of this kind with these source names."""
        return fits(self.op, kind) and (self.name == "*" or any(fits(self.name, name) for name in names))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the rule makes, by name."""
        return {key: value for key in SETTINGS if (value := getattr(self, key)) is not None}

    @property
    def shown(self) -> str:
        """Return the rule as people read it."""
        patterns = {key: value for key in PATTERNS if (value := getattr(self, key)) != "*"}
        return ", ".join(f"{key} = {json.dumps(value)}" for key, value in (patterns | self.settings).items())

    @property
    def text(self) -> str:
        """The rule in one line, which `rule_of_text` reads."""
        patterns = {key: value for key in PATTERNS if (value := getattr(self, key)) != "*"}
        settings = {key: value if isinstance(value, str) else json.dumps(value) for key, value in self.settings.items()}
        return shlex.join(f"{key}={value}" for key, value in (patterns | settings).items())


PATTERNS = ("op", "name")
SETTINGS = tuple(f.name for f in fields(PlacementRule) if f.name not in PATTERNS)
QUEUE_KEYS = tuple(f.name for f in fields(QueueRule))
AnyRule = PlacementRule | QueueRule


def settle(rules: Sequence[PlacementRule], kind: str, names: Sequence[str]) -> PlacementRule:
    """Return all that the rules say of an op; a later rule overrides an earlier one."""
    found = PlacementRule()
    for rule in rules:
        if rule.matches(kind, names):
            found = replace(found, **rule.settings)
    return found


def rule_of_text(text: str) -> AnyRule:
    """Return the rule that a line stands for.  Raises E0101."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Error("E0101", f"'{text[:80]}' is no rule of placement: {error}") from None
    return rule_of({key: _value(key, value) for key, _, value in (word.partition("=") for word in words)}, text[:80])


def _value(key: str, text: str) -> object:
    if key in (*PATTERNS, "queue", "location", "stream", "policy") or len(text) > 64:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def rule_of(table: Mapping[str, Any], where: str) -> AnyRule:
    """Return the rule that a TOML table is.  Raises E0101 for unknown keys and unusable values, at `where`."""
    if not isinstance(table, Mapping):
        raise Error("E0101", "a rule of placement is a table", where=where, hint="write [[placement]]")
    kind, known = (QueueRule, QUEUE_KEYS) if "queue" in table else (PlacementRule, (*PATTERNS, *SETTINGS))
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise Error("E0101", f"a rule has no key '{key}'", where=where, hint=nearest(str(key), known))
        read, wanted = _KINDS[key]
        values[key] = read(value)
        if values[key] is None:
            raise Error("E0101", f"'{key}' takes {wanted}", where=where)
    if not values.keys() - {*PATTERNS, "queue"}:
        settings = [key for key in known if key not in (*PATTERNS, "queue")]
        raise Error("E0101", "a rule asks for nothing", where=where, hint=f"it takes {', '.join(settings)}")
    return kind(**values)


# ---- kinds of values ---------------------------------------------------------------------------------------------------------------------


def _pattern(value: object) -> str | None:
    return checked(value) if isinstance(value, str) and 0 < len(value) <= 1024 else None


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(low: int) -> Callable[[object], int | None]:
    def read(value: object) -> int | None:
        return value if type(value) is int and low <= value <= MAX_SIZE else None

    return read


def _pair(low: int) -> Callable[[object], tuple[int, int] | None]:
    def read(value: object) -> tuple[int, int] | None:
        if not isinstance(value, list | tuple) or len(value) != 2 or any(_number(low)(n) is None for n in value):
            return None
        return value[0], value[1]

    return read


def _word(words: Sequence[str]) -> Callable[[object], str | None]:
    return lambda value: value if isinstance(value, str) and value in words else None


_KINDS: dict[str, tuple[Callable[[object], Any], str]] = {
    "op": (_pattern, "a pattern"),
    "name": (_pattern, "a pattern"),
    "queue": (_pattern, "a pattern"),
    "epoch_break": (_truth, "true or false"),
    "chip_break": (_truth, "true or false"),
    "grid": (_pair(1), "[rows, columns] of cores"),
    "start": (_pair(0), "[row, column] of a core"),
    "transpose": (_truth, "true or false"),
    "stream": (_word(STREAMS), f"one of {', '.join(STREAMS)}"),
    "u_kt": (_number(1), "a number of tiles"),
    "buffer": (_number(1), "a number of microbatches"),
    "policy": (_word(POLICIES), f"one of {', '.join(POLICIES)}"),
    "location": (_word(("dram", "host")), "dram or host"),
    "channel": (_number(0), "a number"),
    "chip": (_number(0), "a number"),
}

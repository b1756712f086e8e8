"""Section `test-config` of a Buda file: how its authors fill queues, and with which parameters they run its programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.plain.functions import Plain
from ttc.stimulus.rules import KINDS, Rules, StimulusRule

SECTION = "test-config"
MAX_OVERRIDES = 10_000
MAX_PATTERN = 400
MAX_NUMBER = 1e38
_KEYS: Mapping[str, tuple[str, str]] = {
    "uniform_lower_bound": ("uniform", "low"),
    "uniform_upper_bound": ("uniform", "high"),
    "normal_mean": ("normal", "mean"),
    "normal_stddev": ("normal", "stddev"),
    "constant_value": ("constant", "value"),
    "debug_tile_id_base": ("debugtileid", "base"),
    "debug_tile_id_step": ("debugtileid", "step"),
    "zero_strip_freq": ("sparse_encoding", "strips"),
    "zero_ublock_freq": ("sparse_encoding", "blocks"),
    "zero_tile_freq": ("sparse_encoding", "tiles"),
}
_RANGES = {"set_tile_rows": "rows", "set_tile_cols": "cols"}


@dataclass(frozen=True)
class HostConfig:
    """The settings of a configuration file of stimulus.

    Args:
        rules: None if it has none.
        arguments: integers of `test-args`, by name.
    """

    rules: Rules | None = None
    arguments: Mapping[str, int] = field(default_factory=dict)


def host_config(extra: Mapping[str, Plain]) -> HostConfig:
    """Return what the file says of the host's part.

    Args:    extra: sections that the format does not define, maps as tuples of (key, value).
    Raises:  E0609 for a stimulus that cannot be.
    """
    section = table_of(extra.get(SECTION))
    stimulus = table_of(section.get("stimulus-config"))
    arguments = {k: v for k, v in table_of(section.get("test-args")).items() if isinstance(v, int) and not isinstance(v, bool)}
    if not stimulus:
        return HostConfig(arguments=arguments)
    overrides = table_of(stimulus.pop("overrides", None))
    if len(overrides) > MAX_OVERRIDES or any(len(pattern) > MAX_PATTERN for pattern in overrides):
        raise Error("E0609", f"more than {MAX_OVERRIDES} overrides of the stimulus, or names longer than {MAX_PATTERN}", SECTION)
    default = rule_of(stimulus, "stimulus-config")
    rules = tuple((pattern, rule_of(table_of(value), f"stimulus-config of '{pattern}'")) for pattern, value in overrides.items())
    return HostConfig(Rules(default, rules), arguments)


def table_of(value: Plain) -> dict[str, Plain]:
    """Return a map, from its tuple of pairs; empty for what is none."""
    if not isinstance(value, tuple):
        return {}
    return {pair[0]: pair[1] for pair in value if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)}


def rule_of(values: Mapping[str, Plain], where: str) -> StimulusRule:
    """Return a rule from the keys of the format.  Raises E0609."""
    kind = _kind(values)
    if kind not in KINDS:
        raise Error("E0609", f"there is no stimulus '{kind[:40]}'", where, nearest(kind[:40], KINDS))
    numbers: dict[str, float] = {}
    for key, value in values.items():
        owner, name = _KEYS.get(key, (kind if key in ("step_start", "step_increment") else "", key.removeprefix("step_")))
        if owner == kind and name in KINDS[kind]:
            numbers[name] = _number(value, f"{where}: {key}")
    rule = StimulusRule(kind, numbers, *(_range(values.get(key), f"{where}: {key}") for key in _RANGES))
    check_rule(rule, where)
    return rule


def check_rule(rule: StimulusRule, where: str) -> None:
    """Raises E0609 for bounds in the wrong order, a negative deviation, or a frequency that is none."""
    if rule.kind == "uniform" and rule.number("low") > rule.number("high"):
        raise Error("E0609", f"a uniform stimulus goes from {rule.number('low')} down to {rule.number('high')}", where)
    if rule.kind == "normal" and rule.number("stddev") < 0:
        raise Error("E0609", f"a normal stimulus has a negative deviation: {rule.number('stddev')}", where)
    if rule.kind == "sparse_encoding" and not all(0 <= rule.number(name) <= 1 for name in KINDS[rule.kind]):
        raise Error("E0609", "how often strips, blocks and tiles are zero is between 0 and 1", where)


def _kind(values: Mapping[str, Plain]) -> str:
    kind = str(values.get("type", "uniform")).lower()
    return "sparse_encoding" if kind == "sparse_encoding_nz_counts" else kind


def _number(value: Plain, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > MAX_NUMBER:
        raise Error("E0609", f"takes a number, not '{str(value)[:40]}'", where)
    return float(value)


def _range(value: Plain, where: str) -> tuple[int, int] | None:
    """(first, last) from 0, of two numbers from 1."""
    if value is None:
        return None
    if not isinstance(value, Sequence) or len(value) != 2 or not all(type(x) is int and 1 <= x <= 32 for x in value):
        raise Error("E0609", f"takes the first and the last row or column of a tile, from 1, not '{str(value)[:40]}'", where)
    first, last = value
    return int(str(first)) - 1, int(str(last)) - 1

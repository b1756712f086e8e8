"""Rules of precision: which formats and which fidelity the ops that a pattern matches get.

A rule matches ops by kind and by source name, both shell patterns.  Rules apply in order: a later one overrides an earlier one, setting
by setting.  They come from a TOML file, as tables `[[precision]]`, or from one of the levels of automatic mixed precision in `AMP`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import escape
from typing import Any, ClassVar

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.formats import FORMATS, format_named
from ttc.dialects.core.numerics import ACCUMULATORS, FIDELITIES
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.patterns import checked, fits

PATTERNS = ("op", "name")
SETTINGS = ("output", "weights", "intermediate", "accumulate", "fidelity")


@record
class PrecisionRule:
    """A rule of precision: what all ops that match it get; None leaves a setting as it is.

    Args:
        op: pattern of what an op is called (`kinds`), such as `matmul` or `*pool2d`.
        name: pattern of one of the source names of the op, such as `/layer1/*`.
        output: format of its results.
        weights: format of its constant operands, biases and literals excepted.
        intermediate: format of its partial results on a device.
        accumulate: format in which a device accumulates.
        fidelity: of the device's multiplier.
        preset: whether it belongs to a level of automatic mixed precision; such a rule yields where one of a file is an error.
    """

    op: str = "*"
    name: str = "*"
    output: str | None = None
    weights: str | None = None
    intermediate: str | None = None
    accumulate: str | None = None
    fidelity: str | None = None
    preset: bool = False

    COMPUTED: ClassVar[tuple[str, ...]] = ("intermediate", "accumulate", "fidelity")
    """Settings of the computation, which a netlist holds; the others are formats at the borders of ops."""

    def matches(self, kinds: Sequence[str], names: Sequence[str]) -> bool:
        """Return whether the rule is about an op of these kinds and source names."""
        return any(fits(self.op, kind) for kind in kinds) and (self.name == "*" or any(fits(self.name, name) for name in names))

    @property
    def settings(self) -> dict[str, str]:
        """The settings that the rule makes, by name."""
        return {key: value for key in SETTINGS if (value := getattr(self, key)) is not None}

    @property
    def text(self) -> str:
        """The rule in one line, which `of_text` reads."""
        patterns = {key: value for key in PATTERNS if (value := getattr(self, key)) != "*"}
        return shlex.join(f"{key}={value}" for key, value in (patterns | self.settings).items())

    @staticmethod
    def of_text(text: str) -> PrecisionRule:
        """Return the rule that `text` stands for.  Raises E0101."""
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise Error("E0101", f"'{text}' is no rule of precision: {error}") from None
        return PrecisionRule.of({key: value for key, _, value in (word.partition("=") for word in words)}, text)

    @staticmethod
    def of(table: Mapping[str, Any], where: str) -> PrecisionRule:
        """Return the rule that a TOML table is.  Raises E0101 for unknown keys and unusable values, at `where`."""
        if not isinstance(table, Mapping):
            raise Error("E0101", "a rule of precision is a table", where=where, hint="write [[precision]]")
        for key, value in table.items():
            if key not in (*PATTERNS, *SETTINGS):
                raise Error("E0101", f"a rule has no key '{key}'", where=where, hint=nearest(str(key), (*PATTERNS, *SETTINGS)))
            _check_value(key, value, where)
        if not any(key in table for key in SETTINGS):
            raise Error("E0101", "a rule sets nothing", where=where, hint=f"it takes {', '.join(SETTINGS)}")
        return PrecisionRule(**table)


def _check_value(key: str, value: object, where: str) -> None:
    if not isinstance(value, str) or not value:
        raise Error("E0101", f"'{key}' takes a text", where=where)
    if key in PATTERNS:
        checked(value)
    known = _known(key)
    if known and value not in known:
        raise Error("E0101", f"'{key}' cannot be '{value}'", where=where, hint=nearest(value, known))


def _known(key: str) -> Sequence[str]:
    """Return values that a setting takes; none for a pattern, which takes any."""
    if key in PATTERNS:
        return ()
    if key == "fidelity":
        return FIDELITIES
    return ACCUMULATORS if key == "accumulate" else [name for name, format_ in FORMATS.items() if format_.is_float and format_.device]


def settle(rules: Sequence[PrecisionRule], kinds: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, PrecisionRule]]:
    """For each setting that a matching rule makes, its value and the last rule that makes it."""
    found: dict[str, tuple[str, PrecisionRule]] = {}
    for rule in rules:
        if rule.matches(kinds, names):
            found |= {key: (value, rule) for key, value in rule.settings.items()}
    return found


def width(format_: str) -> int:
    """Return bytes that the numbers of a 32 x 32 tile take: what makes one format wider than another."""
    return format_named(format_).data_bytes(32, 32)


def exactly(name: str) -> str:
    """Return the pattern that matches this name alone."""
    return escape(name)


def _level(*rules: PrecisionRule) -> tuple[PrecisionRule, ...]:
    return tuple(replace(rule, preset=True) for rule in rules)


_PRODUCTS = ("matmul", "conv2d", "conv_transpose2d")
_STREAMED = ("map", "max_pool2d")

AMP: tuple[tuple[PrecisionRule, ...], ...] = (
    (),
    _level(*(PrecisionRule(op, weights="Bfp8_b", fidelity="HiFi2") for op in _PRODUCTS)),
    _level(
        *(PrecisionRule(op, output="Bfp8_b", weights="Bfp4_b", fidelity="LoFi") for op in _PRODUCTS),
        *(PrecisionRule(op, output="Bfp8_b") for op in _STREAMED),
    ),
)
"""Rules of each level of automatic mixed precision.

Level 1 halves or quarters the weights of products and keeps two of four passes of the multiplier; level 2 takes the smallest weights and
activations, and one pass.  Norms, softmax, attention, reductions and averages keep format and fidelity, as their results are sums of many
values or feed an exponential.
"""

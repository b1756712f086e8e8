"""Where users want queues: in DRAM or host memory, in which channel, on which chip."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import fields

from ttc.dialects.core.records import record
from ttc.dialects.core.rules.patterns import fits


@record
class QueueRule:
    """A rule of queues: what all queues that match it get; None leaves a choice to the compiler.

    Args:
        queue: pattern of a queue's name, of one of its source names, or of its kind after `kind:`, such as `kind:input`.
        location: `dram` or `host`.
        channel: of that memory.
        chip: whose DRAM it is, for a queue that the host fills.
    """

    queue: str
    location: str | None = None
    channel: int | None = None
    chip: int | None = None

    @property
    def text(self) -> str:
        """The rule in one line."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return shlex.join(f"{key}={value}" for key, value in found.items() if value is not None)

    def matches(self, names: Iterable[str]) -> bool:
        """Return whether one of a queue's names is meant."""
        return any(fits(self.queue, name) for name in names)


def names_of(name: str, kind: str, sources: Iterable[str]) -> tuple[str, ...]:
    """Return all that a rule may call a queue by: its name, its source names, and `kind:` with its kind."""
    return name, *sources, f"kind:{kind}"


def settle(rules: Sequence[QueueRule], names: Sequence[str]) -> QueueRule:
    """Return all that the rules say of a queue with these names; a later rule overrides an earlier one, setting by setting."""
    found = {f.name: None for f in fields(QueueRule)} | {"queue": names[0]}
    for rule in rules:
        if rule.matches(names):
            found |= {f.name: value for f in fields(rule)[1:] if (value := getattr(rule, f.name)) is not None}
    return QueueRule(**found)  # pyright: ignore[reportArgumentType]

"""What watches steps of work: reports, remarks, and the part of the interface of instruments that needs no compiler IR.

Passes of the compiler and steps of the native engine are watched by the same instruments: see `ttc.passes.base.Instrument`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Literal, Protocol

from ttc.dialects.core.records import record


@record
class Remark:
    """What a pass did or did not do at one place, and why.

    Args:
        kind: `applied`, `missed` or `analysis`.
        pass_name: of the pass that says it.
        location: source names of the op.
        message: one line.
        data: figures behind the message.
    """

    kind: Literal["applied", "missed", "analysis"]
    pass_name: str
    location: tuple[str, ...]
    message: str
    data: Mapping[str, object] = field(default_factory=dict)


@record(frozen=False)
class Report:
    """What one run of a pass did.

    Args:
        rewrites: how often each named rewrite was applied.
        remarks: in order.
        seconds: that it took.
        parts: seconds of its named parts.
        changed: whether it changed the module; None if nobody asked.
        numerics: errors against the module before it, by output, as an instrument measured them.
    """

    rewrites: Counter[str] = field(default_factory=Counter)
    remarks: list[Remark] = field(default_factory=list)
    seconds: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    changed: bool | None = None
    numerics: Mapping[str, object] | None = None


@record
class RewriteSite:
    """A place where a rewrite may happen.

    Args:
        where: its source, for people.
        text: one line that shows what is there.
    """

    where: str
    text: str


class Named(Protocol):
    """A pass of the compiler, or a step of an engine.

    name: in kebab case, as users write it.
    """

    name: ClassVar[str]


class Subject(Protocol):
    """What a pass or a step works on."""

    @property
    def passes_done(self) -> int:
        """How many passes of the stage under way are behind it."""
        ...

    def text(self, *, locations: bool = False) -> str:
        """Return the subject as text of any number of lines.  locations: with the source names of ops."""
        ...

    def op_count(self) -> int:
        """Return how many ops of the subject compute something."""
        ...


class StepInstrument(Protocol):
    """An instrument that can watch steps which do not work on compiler IR; `rewrite` is asked before every named rewrite.

    compares: whether `after` needs to know if the step changed anything.
    """

    compares: ClassVar[bool]

    def on_stage(self, stage: str, unit: Subject) -> None: ...
    def before(self, pass_: Named, unit: Subject) -> None: ...
    def after(self, pass_: Named, unit: Subject, report: Report) -> None: ...
    def failed(self, pass_: Named, unit: Subject, error: BaseException) -> None: ...
    def finish(self) -> None: ...
    def rewrite(self, name: str, op: RewriteSite) -> bool: ...
    def remark(self, remark: Remark) -> None: ...

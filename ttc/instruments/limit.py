"""Stops rewriting after so many named rewrites."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from ttc.dialects.core.ir.adapter import excerpt
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.shown import shown
from ttc.dialects.core.watching import RewriteSite
from ttc.instruments.base import PassWatcher


class RewriteLimit(PassWatcher):
    """Refuses every named rewrite after the first `limit` ones of the whole pipeline, and says which one was the last.

    It must be the first of the instruments that may refuse, so that what it counts is what happens.

    Attributes: count: rewrites asked for; last: the last one that it let happen, None before the first.
    """

    def __init__(self, limit: int | None = None, say: Callable[[str], None] | None = None, *, partial: bool = False) -> None:
        """limit: None only counts.  say: told at the end which rewrite was the last.

        partial: count and refuse those, too, that later passes count on, such as giving an op its cores.
        """
        super().__init__()
        self.limit, self.say, self.partial = limit, say, partial
        self.count = 0
        self.last: str | None = None

    def rewrite(self, name: str, op: Operation | RewriteSite) -> bool:
        self.count += 1
        if self.limit is not None and self.count > self.limit:
            return False
        if self.count == self.limit:
            place = f"{op.where}: {op.text}" if isinstance(op, RewriteSite) else f"{where(op)}: {excerpt(op)}"
            self.last = f"rewrite {self.count}: {self.run} (stage {self.stage}): {name} at {place}"
        return True

    def finish(self) -> None:
        if self.say is None:
            return
        if self.last is not None:
            self.say(shown(f"last {self.last}"))
        else:
            self.say("no rewrite happened" if self.limit == 0 else f"all {self.count} rewrites happened")

"""What a step asks before it changes a node, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ttc.dialects.core.watching import Remark, Report, RewriteSite, StepInstrument
from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.prepare.printing import node_text

if TYPE_CHECKING:
    from ttc.runtime.engines.native.prepare.draft import Draft

Allow: TypeAlias = Callable[[str, Node], bool]
"""Says whether the rewrite of a name may happen at a node; asked once it is sure to apply."""


def always(name: str, node: Node) -> bool:
    """Allow every rewrite: nobody watches."""
    del name, node
    return True


class StepRewriter:
    """Stands between one run of a step and the instruments: asks them, counts rewrites, passes remarks on.

    Args:
        name: of the step.
        draft: what it works on, which keeps the names of the steps that changed an op.
    """

    def __init__(self, name: str, draft: Draft, instruments: Sequence[StepInstrument] = ()) -> None:
        self._name = name
        self._changed_by = draft.changed_by
        self._instruments = instruments
        self.report = Report()

    def allow(self, name: str, node: Node) -> bool:
        """Say whether the rewrite of that name may happen at a node, and count it if so; ask once it is sure to apply."""
        if self._instruments:
            site = RewriteSite(node.where, node_text(node))
            if not all(instrument.rewrite(name, site) for instrument in self._instruments):
                return False
        self.report.rewrites[name] += 1
        self._changed_by.setdefault(node.op.name, {})[self._name] = None
        return True

    def missed(self, node: Node, message: str) -> None:
        """Report as a remark that something was not done at a node, and why."""
        remark = Remark("missed", self._name, node.op.location or (node.op.name,), message)
        self.report.remarks.append(remark)
        for instrument in self._instruments:
            instrument.remark(remark)

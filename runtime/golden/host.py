"""The host of a golden run: it pushes what a file gives, and draws what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Netlist, Queue
from ttc.runtime.golden.encodings import Fitting, draw_codes, fitting
from ttc.runtime.golden.stimulus import Rule, Rules, draw, generator_of, stored

UNFITTING = Fitting({}, frozenset(), {})


@dataclass(frozen=True)
class Host:
    """A source of entries for a `Session`.

    Args:
        given: values of queues by name, [entries, t, rows, columns].
        rules, seed: for the others.
        fit: queues that cannot hold just anything; the rules decide only how sparse codes are, and what tiles with rules of their own
            hold.
    """

    rules: Rules = Rules()
    seed: int = 0
    given: Mapping[str, NDArray] = field(default_factory=dict)
    fit: Fitting = UNFITTING

    def __call__(self, queue: Queue, entry: int) -> NDArray:
        """Entry number `entry` as the queue's format holds it.  Raises E0801 if fewer are given."""
        values = self.given.get(queue.name)
        if values is None:
            return stored(self._drawn(queue, entry), queue)
        if entry >= len(values):
            hint = "give as many as the programs read, or lower the loop counts: --param"
            raise Error("E0801", f"queue '{queue.name}' needs more than the {len(values)} entries that are given", hint=hint)
        return stored(values[entry], queue)

    def _drawn(self, queue: Queue, entry: int) -> NDArray:
        name, shape = queue.name, queue.tensor.shape
        own = self.rules.own(name)
        if name in self.fit.codes:
            return draw_codes(self.fit.codes[name], own, shape, generator_of(name, entry, self.seed))
        if name in self.fit.indices and (own or self.rules.default).kind in ("uniform", "normal"):
            return generator_of(name, entry, self.seed).integers(0, self.fit.indices[name], shape)
        if name in self.fit.tiles and own is None:
            return draw(Rule("sparse"), queue, entry, self.seed)
        return draw(own or self.rules.default, queue, entry, self.seed)


def host_of(netlist: Netlist, rules: Rules, seed: int, given: Mapping[str, NDArray]) -> Host:
    """The host of a netlist."""
    return Host(rules, seed, given, fitting(netlist))

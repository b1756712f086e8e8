"""What a choice of precision costs: stored bytes, and cycles of products by their fidelity, each as a share of what they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.leaves import LeafOp
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.dialects.tile.base import TileOp, TileType
from ttc.dialects.tile.shape import ViewOp
from ttc.passes.precision import assign, chosen
from ttc.passes.tile_to_netlist.lower_to_netlist import usual_fidelity
from ttc.runtime.perf.base import PHASES
from ttc.tune.knobs import PRODUCTS
from ttc.tune.subject import Site, TuneSubject, site_of


class Cost:
    """The cost of a model under rules; 2 for the model as it is.

    Args:
        subject: the model.
        sites: estimated cycles of its ops in a netlist without rules.
    """

    def __init__(self, subject: TuneSubject, sites: Mapping[Site, int]) -> None:
        self.subject = subject
        self.sites = sites
        self.fixed = sum(sites.values()) - sum(sites.get(site_of(op), 0) for op in self._products())
        self.values = self._stored()
        self.bytes, self.cycles = self.parts(())

    def __call__(self, rules: Sequence[PrecisionRule]) -> float:
        size_bytes, cycles = self.parts(rules)
        return size_bytes / max(self.bytes, 1) + cycles / max(self.cycles, 1)

    def parts(self, rules: Sequence[PrecisionRule]) -> tuple[int, float]:
        """Return bytes of weights and results, and cycles of all ops."""
        formats = assign(self.subject.unit.module, rules).formats
        size_bytes = sum(format_named(formats.get(v, base)).size_bytes(shape) for v, (base, shape) in self.values.items())
        return size_bytes, self.fixed + sum(self._cycles(op, rules, formats) for op in self._products())

    def _products(self) -> list[TileOp]:
        return [op for op in self.subject.ops if op.name.partition(".")[2] in PRODUCTS]

    def _cycles(self, op: TileOp, rules: Sequence[PrecisionRule], formats: Mapping[SSAValue, str]) -> float:
        """Return cycles of a product, in proportion to the phases of its fidelity."""
        result = op.results[0]
        before = result.type.data.format if isinstance(result.type, TileType) else ""
        usual = usual_fidelity(formats.get(result, before))
        now = chosen(op, rules).get("fidelity", (usual, None))[0]
        return self.sites.get(site_of(op), 0) * PHASES[now] / PHASES[usual_fidelity(before)]

    def _stored(self) -> dict[SSAValue, tuple[str, tuple[int, ...]]]:
        """Format and shape of everything that is stored between ops."""
        found: dict[SSAValue, tuple[str, tuple[int, ...]]] = {}
        for op in self.subject.unit.module.walk():
            if isinstance(op, LeafOp | TileOp) and not isinstance(op, ViewOp):
                tiles = {v: v.type.data for v in op.results if isinstance(v.type, TileType)}
                found |= {value: (tile.format, tile.shape) for value, tile in tiles.items()}
        return found

"""The model under search: tile IR just before rules of precision apply, and its compilation under rules."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ttc import __version__
from ttc.compiler.source import open_source
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.precision import PrecisionRule
from ttc.dialects.netlist.ops import NetlistOp
from ttc.dialects.tile.base import TileOp
from ttc.options import CompileOptions
from ttc.passes.base import Pass, Unit
from ttc.passes.emit import Package, emit
from ttc.passes.manager import run_passes
from ttc.passes.netlist.view import main_op
from ttc.passes.pipeline import PipelineSettings, stages
from ttc.passes.precision import computing
from ttc.passes.tile.override_formats import OverrideFormats
from ttc.reports.netlist_summary import summarize

Site = tuple[str, tuple[str, ...]]
"""An op as rules see it, whatever passes make of it later: its name and its source names."""


@record
class Compiled:
    """A compiled netlist with its tensors.  cycles: estimated for one run; tensor_bytes: stored in the archive; sites: cycles by op."""

    package: Package
    cycles: int
    tensor_bytes: int
    sites: dict[Site, int]


@record
class TuneSubject:
    """A model at the point of stage tile where rules apply.

    Args:
        unit: module, weights and target; never changed.
        options: that it was compiled with so far.
        program: the entry function whose outputs are compared.
    """

    unit: Unit
    options: CompileOptions
    program: str

    @cached_property
    def function(self) -> FuncOp:
        """The entry function that is tuned. Raises E0803."""
        found = {function.sym_name.data: function for function in entry_functions(self.unit.module)}
        if self.program not in found:
            raise Error("E0803", f"the model has no program '{self.program}'", hint=nearest(self.program, found))
        return found[self.program]

    @cached_property
    def ops(self) -> list[TileOp]:
        """The ops that rules are about."""
        return [op for function in entry_functions(self.unit.module) for op in computing(function)]

    def compile(self, rules: tuple[PrecisionRule, ...]) -> Compiled:
        """Return what a compilation with these rules gives."""
        unit = Unit(self.unit.module.clone(), self.unit.weights, self.unit.target)
        run_passes([*_following(stages_of(self.options, rules)["tile"]), *stages_of(self.options, rules)["netlist"][:2]], unit)
        sites = dict(_sites(unit))
        run_passes(stages_of(self.options, rules)["netlist"][2:], unit)
        package = emit(unit, __version__)
        cycles = sum(epoch.cycles for epoch in summarize(package.netlist).epochs)
        return Compiled(package, cycles, sum(tensor.size_bytes for tensor in package.tensors.values()), sites)


def open_subject(path: Path, options: CompileOptions, program: str) -> TuneSubject:
    """Compile a model as far as rules of precision.  Raises as `ttc compile`, and E0101 for IR text past that."""
    source = open_source(path, options)
    unit = Unit(source.module, source.weights, load_target(options.target))
    if source.stage not in ("import", "nn"):
        raise Error("E0305", f"the IR is at the end of stage '{source.stage}', where formats are settled", where=path.name)
    pipeline = stages_of(options, ())
    passes = pipeline["nn"] if source.stage == "import" else []
    run_passes([*passes, *takewhile(lambda p: not isinstance(p, OverrideFormats), pipeline["tile"])], unit)
    return TuneSubject(unit, options, program)


def stages_of(options: CompileOptions, rules: tuple[PrecisionRule, ...]) -> dict[str, list[Pass]]:
    """Return the pipeline that options ask for, with other rules."""
    return stages(load_target(options.target), PipelineSettings(format=options.storage_format, precision=options.precision, rules=rules))


def _following(passes: list[Pass]) -> list[Pass]:
    """Return the passes from the one that applies rules on."""
    return passes[[isinstance(p, OverrideFormats) for p in passes].index(True) :]


def _sites(unit: Unit) -> Iterator[tuple[Site, int]]:
    """Estimated cycles of each op of a balanced netlist, by the op that computes in it."""
    for op in unit.module.walk():
        if isinstance(op, NetlistOp):
            yield site_of(main_op(op)), op.cycles or 0


def site_of(op: Operation) -> Site:
    """Return the site of an op."""
    return op.name, source_names(op.location)

"""The run of all rules over a Buda netlist."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.netlist.buda.faults import Faults
from ttc.dialects.netlist.buda.form import BudaNetlist
from ttc.dialects.netlist.buda.rules.attributes import check_attributes
from ttc.dialects.netlist.buda.rules.context import ARCHS, Context, arch_named, faults_of
from ttc.dialects.netlist.buda.rules.dims import check_dims
from ttc.dialects.netlist.buda.rules.dynamic import check_dynamic
from ttc.dialects.netlist.buda.rules.epochs import check_cycles, check_epochs
from ttc.dialects.netlist.buda.rules.formats import check_edges, check_formats
from ttc.dialects.netlist.buda.rules.fused import check_fused, check_fused_on_arch, check_users
from ttc.dialects.netlist.buda.rules.graphs import check_graphs, check_grids
from ttc.dialects.netlist.buda.rules.l1 import check_l1
from ttc.dialects.netlist.buda.rules.memory import check_memory
from ttc.dialects.netlist.buda.rules.ops import check_ops, check_ops_on_arch
from ttc.dialects.netlist.buda.rules.programs import check_counts, check_programs
from ttc.dialects.netlist.buda.rules.queues import check_queues, check_queues_on_arch
from ttc.dialects.netlist.buda.rules.sections import check_archs, check_sections
from ttc.dialects.netlist.buda.rules.streams import check_streams
from ttc.dialects.netlist.buda.rules.tiles import check_tiles
from ttc.dialects.netlist.violations import Violation

Rule = Callable[[Context], None]
GENERAL: tuple[Rule, ...] = (
    *(check_archs, check_queues, check_cycles, check_graphs, check_attributes, check_ops, check_dims, check_edges),
    *(check_users, check_fused, check_streams, check_epochs, check_programs, check_counts, check_dynamic),
)
ON_ARCH: tuple[Rule, ...] = (
    *(check_queues_on_arch, check_grids, check_ops_on_arch, check_formats, check_tiles, check_fused_on_arch, check_l1, check_memory),
)
"""Rules that hold everywhere, and those that depend on the architecture."""


def check_form(form: BudaNetlist, arch: str | Sequence[str] | None = None, already: Sequence[Violation] = ()) -> list[Violation]:
    """Return what is wrong with a netlist.

    arch: one of ARCHS or several; all that the netlist lists if not given.  What holds on some of several alone says on which.
    already: what the reader found; faults that follow from these are left out.  Raises E0101 for an unknown architecture.
    """
    wanted = (arch,) if isinstance(arch, str) else tuple(arch or form.archs)
    names = tuple(dict.fromkeys(name for name in wanted if name in ARCHS))
    for name in wanted if arch else ():
        if name not in ARCHS:
            raise Error("E0101", f"there is no architecture '{name[:60]}'", hint=nearest(name[:60], ARCHS))
    if arch and form.archs and not set(names) <= set(form.archs):
        where = f"{form.source}:{form.lines['devices']}: devices" if "devices" in form.lines else "devices"
        message = f"it is for {', '.join(form.archs[:8])}, not for {', '.join(name for name in names if name not in form.archs)}"
        return [Violation("E0612", where, message)]
    context = Context(form, arch_named(names[0] if names else ARCHS[0]), Faults(list(already)), faulty=faults_of(already))
    check_sections(context)
    if any(": " not in violation.where and violation.code == "E0612" for violation in already):  # a section that could not be read
        return context.found.violations[len(already) :]
    if len(context.found.violations) > len(already):
        return context.found.violations[len(already) :]
    for rule in GENERAL:
        rule(context)
    general = context.found.violations[len(already) :]
    return general + _on_archs(context, names, already)


def _on_archs(context: Context, names: Sequence[str], already: Sequence[Violation]) -> list[Violation]:
    """Return what the rules of each architecture find.  The same fault on several is told once, with the numbers of the first."""
    told: dict[tuple[str, str, int], Violation] = {}
    archs: dict[tuple[str, str, int], list[str]] = {}
    for name in names:
        context.arch, context.found = arch_named(name), Faults(list(already))
        for rule in ON_ARCH:
            rule(context)
        times: dict[tuple[str, str], int] = defaultdict(int)
        for violation in context.found.violations[len(already) :]:
            place = (violation.code, violation.where)
            key = (*place, times[place])
            times[place] += 1
            told.setdefault(key, violation)
            archs.setdefault(key, []).append(name)
    return [found if len(archs[key]) == len(names) else _on(found, archs[key]) for key, found in told.items()]


def _on(violation: Violation, archs: Sequence[str]) -> Violation:
    return Violation(violation.code, violation.where, f"{violation.message} (on {', '.join(archs)})", violation.hint)

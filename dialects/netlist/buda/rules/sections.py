"""Sections and devices: what there is, in which order, and for which architectures."""

from __future__ import annotations

from ttc.dialects.netlist.buda.rules.context import ARCHS, Context

REQUIRED = ("devices", "queues", "graphs", "programs")
ORDERED = ("devices", "queues", "graphs")
ALL = (*REQUIRED, "fused_ops")


def check_sections(context: Context) -> None:
    """Section devices comes before queues, and these before graphs, as later ones are resolved against earlier ones."""
    netlist, found = context.netlist, context.found
    for name in [name for name in REQUIRED if name not in netlist.sections] if netlist.sections else ():
        spelled = [other for other in netlist.sections if other not in ALL and found.nearest(other, ALL) == f"did you mean '{name}'?"]
        where = context.at(netlist.lines, spelled[0], "") if spelled else netlist.source
        hint = f"section '{spelled[0]}' is not of the format: did you mean '{name}'?" if spelled else None
        found.add("E0612", where.removesuffix(": "), f"there is no section {name}", hint)
    for first, second in zip(ORDERED, ORDERED[1:], strict=False):
        if {first, second} <= set(netlist.sections) and netlist.sections.index(first) > netlist.sections.index(second):
            where = context.at(netlist.lines, first, "").removesuffix(": ")
            found.add("E0612", where, f"section {first} comes after {second}, which needs it", f"move {first} before {second}")


def check_archs(context: Context) -> None:
    """The architectures are known ones."""
    netlist, found = context.netlist, context.found
    if "devices" not in netlist.sections:
        return
    where = context.at(netlist.lines, "devices", "devices")
    if not netlist.archs:
        already = any(violation.where.endswith("devices") for violation in found.violations)
        found.require(already, "E0614", where, "no architecture: arch is missing", f"one or a list of {', '.join(ARCHS)}")
    for arch in netlist.archs:
        found.require(arch in ARCHS, "E0615", where, f"there is no architecture '{arch[:60]}'", found.nearest(arch, ARCHS))

"""The machine of a netlist, from the description of a target."""

from __future__ import annotations

from dataclasses import fields

from ttc.dialects.core.machines.targets import Target
from ttc.dialects.netlist.model import Chip


def chip(target: Target) -> Chip:
    """Return what a netlist says of its machine."""
    shared = {f.name: getattr(target, f.name) for f in fields(Chip) if f.name != "target"}
    return Chip(target=target.name, **shared)

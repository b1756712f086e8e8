"""The machine that a Buda netlist is for: netlists name an architecture, not a card."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.targets import Target, arch_names, complete, target_of

SAME = {"wormhole": "wormhole_b0"}
"""Architectures of the format that differ from another one only in what netlists do not say."""


def arch_of(archs: tuple[str, ...], wanted: str | None = None) -> str:
    """The architecture to take a netlist for: the one wanted, or the first of those it names that ttc knows.

    Raises E0101 for a wanted one that is unknown, E0607 for one that the netlist is not for, or if it is for none that is known.
    """
    known = arch_names()
    named = [SAME.get(arch, arch) for arch in archs]
    if wanted is not None:
        chosen = SAME.get(wanted, wanted)
        if chosen not in known:
            raise Error("E0101", f"there is no architecture '{wanted[:40]}'", hint=f"known: {', '.join(known)}")
        if chosen not in named:
            raise Error("E0607", f"the netlist is for {', '.join(archs) or 'no architecture'}, not for {wanted}")
        return chosen
    found = next((arch for arch in named if arch in known), None)
    if found is None:
        raise Error("E0607", f"the netlist is for {', '.join(archs)[:80] or 'no architecture'}", hint=f"known: {', '.join(known)}")
    return found


def machine(arch: str, chips: int) -> Target:
    """Return a machine of so many whole chips of an architecture, under the architecture's name."""
    return target_of(complete({"name": arch, "arch": arch, "chips": chips}, arch), arch)

"""What the settings of an op say of how it computes, by the names of attributes that Buda netlists have."""

from __future__ import annotations

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.model import Settings


def attributes_of(settings: Settings) -> dict[str, Plain]:
    """Return what the settings of an op say of it besides its work, by the names of attributes that Buda netlists have."""
    given = dict(settings).get("attributes", ())
    pairs = given if isinstance(given, tuple) else ()
    return {str(pair[0]): pair[1] for pair in pairs if isinstance(pair, tuple) and len(pair) == 2}


def adds_up_in_l1(settings: Settings) -> bool:
    """Return whether packers add up the op's partial sums in L1."""
    return attributes_of(settings).get("l1_acc") is True


def is_approximate(settings: Settings) -> bool:
    """Return whether the op's functions are computed in their coarser form."""
    return attributes_of(settings).get("approximate_mode") is True

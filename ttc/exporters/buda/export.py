"""From a compiled netlist to the form of a Buda netlist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import NDArray

from ttc.dialects.netlist.buda.form import BudaNetlist
from ttc.dialects.netlist.buda.from_netlist import from_netlist
from ttc.dialects.netlist.model import Netlist
from ttc.exporters.buda.canonical import canonical
from ttc.exporters.buda.room import Copy


@dataclass(frozen=True)
class Exported:
    """A Buda netlist.

    Args:
        form: of it.
        constants: values of queues that the archive has no tensor for, [t, rows, columns] in whole tiles.
        copies: queues that hold the tensor of another queue in a manner of their own.
        indices: queues of indices, and how many each row of cores reads of them.
    """

    form: BudaNetlist
    constants: Mapping[str, NDArray]
    copies: Mapping[str, Copy]
    indices: Mapping[str, int]


def export(netlist: Netlist) -> Exported:
    """The Buda netlist of a netlist compiled with --kernels buda.

    Work on the host is no part of it: programs end before it, and the queues that it fills are the host's.
    Raises E0503 naming the op that Buda lacks, or that it cannot place so.
    """
    found = canonical(netlist)
    return Exported(from_netlist(found.netlist), found.constants, found.copies, found.indices)

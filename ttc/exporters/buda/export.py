"""From a compiled netlist to the form of a Buda netlist."""

from __future__ import annotations

from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.form import BudaNetlist
from ttc.dialects.netlist.buda.from_netlist import from_netlist
from ttc.dialects.netlist.model import Netlist
from ttc.exporters.buda.canonical import canonical
from ttc.exporters.buda.constants import Fillings
from ttc.exporters.buda.training import training_netlist
from ttc.runtime.manifest import Description


@record
class Exported:
    """An exported Buda netlist, and the values that its queues hold.

    Args:
        form: of it.
        fillings: what its queues hold beside the archive's tensors.
    """

    form: BudaNetlist
    fillings: Fillings


def export(netlist: Netlist, description: Description | None = None) -> Exported:
    """Return the Buda netlist of a netlist compiled with --kernels buda.

    Work on the host is no part of it: programs end before it, and the queues that it fills are the host's.
    description: of its archive, with which training programs update rams; None: new values are results.
    Raises E0503 naming the op that Buda lacks, or that it cannot place so.
    """
    if description is not None:
        variables = {**description.parameters, **description.states}
        netlist = training_netlist(netlist, {name: variable.key for name, variable in variables.items() if variable.key is not None})
    found, fillings = canonical(netlist)
    return Exported(from_netlist(found), fillings)

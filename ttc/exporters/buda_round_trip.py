"""Buda netlists through the dialect and back to text, with proof that nothing was lost on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

if TYPE_CHECKING:
    from ttc.dialects.netlist.buda.form import BudaNetlist
    from ttc.dialects.netlist.model import Netlist


@record
class Formatted:
    """A netlist in the plain model, and its text."""

    netlist: Netlist
    text: str

    def ir(self) -> str:
        """Return the text of the dialect.  Raises E0901 if it does not parse back to the same netlist."""
        from ttc.dialects.core.ir.adapter import print_op
        from ttc.dialects.core.ir.parsing import parse_module
        from ttc.dialects.netlist import ops
        from ttc.dialects.netlist.from_model import from_model
        from ttc.dialects.netlist.to_model import verify_netlist
        from ttc.dialects.nn.base import dialect as nn
        from ttc.dialects.tile.base import dialect as tile

        text = print_op(from_model(self.netlist)) + "\n"
        if verify_netlist(parse_module(text, "netlist", (nn, tile, ops.dialect))) != self.netlist:
            raise Error("E0901", "the dialect's text does not read back as the netlist it was printed from")
        return text


def formatted(form: BudaNetlist, arch: str | None = None) -> Formatted:
    """Return the netlist of a form that keeps the rules, and the text that is written of it after its way through the dialect.

    Args:    arch: architecture to take it for; the first that it names and ttc knows if not given.
    Raises:  what `to_netlist` raises; E0901 if the text does not say what the form says.
    """
    from ttc.dialects.netlist.buda.from_netlist import from_netlist
    from ttc.dialects.netlist.buda.normal import differences, normalised
    from ttc.dialects.netlist.buda.reader import read_netlist
    from ttc.dialects.netlist.buda.to_netlist import to_netlist
    from ttc.dialects.netlist.buda.writer import write_netlist
    from ttc.dialects.netlist.checks import require_valid
    from ttc.dialects.netlist.from_model import from_model
    from ttc.dialects.netlist.to_model import to_model

    netlist = to_netlist(form, arch)
    require_valid(netlist)
    back = to_model(from_model(netlist))
    if back != netlist:
        raise Error("E0901", "the dialect holds another netlist than the one it was made of", where=form.source)
    text = write_netlist(from_netlist(back))
    found = differences(normalised(form), normalised(read_netlist(text.encode(), f"what was written of {form.source}")))
    if found:
        raise Error("E0901", f"the text that was written says something else: {'; '.join(found)}", where=form.source)
    return Formatted(netlist, text)

"""Casts, and elementwise functions by the table `FUNCTIONS`."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.buda import UNSIGNED
from ttc.dialects.tile.eltwise import CastOp, MapOp
from ttc.passes.declined import Declined
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.functions import FUNCTIONS, truncated, truth


@EXPANSIONS.rule("map")
def expand_map(op: MapOp, to: Expansion) -> SSAValue:
    """Express an elementwise function by others; one that cannot be expressed so runs on the host."""
    attrs = op.plain_attrs()
    function = FUNCTIONS.get(attrs["fn"])
    if function is None:
        raise Declined(f"{attrs['fn']} has no terms in the vocabulary")
    given = dict(zip(attrs.get("names") or (), attrs.get("values") or (), strict=True))
    return to.fit(function(to, *op.xs, **given))


@EXPANSIONS.rule("cast")
def expand_cast(op: CastOp, to: Expansion) -> SSAValue:
    """Expand a cast: only the format changes, once the value is what the source's cast gives."""
    x, wanted = op.x, str(op.plain_attrs().get("to"))
    held = FORMATS[tile_of(x).format]
    if {tile_of(x).format, to.result.format} & UNSIGNED or (wanted == "bool" and not held.is_float):
        raise Declined("it converts integers")
    if wanted == "bool":
        return to.fit(truth(to, to.map("abs", x)))
    if held.is_float and wanted.startswith(("int", "uint")):
        x = truncated(to, x)
    elif held.is_float and wanted == "float16" and to.result.format not in ("Float16", "Float16_b"):
        x = to.emit(CastOp, x, format="Float16") if "Float16" in to.unit.target.formats else x
    return to.emit(CastOp, x, format=to.result.format)

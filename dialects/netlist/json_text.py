"""The netlist as JSON: the executable member of an archive.  Canonical and compact when written, strict when read."""

from __future__ import annotations

import json

from ttc.dialects.core.errors import Error
from ttc.dialects.core.json_hooks import no_constant, unique_keys
from ttc.dialects.netlist.codec import decode, encode
from ttc.dialects.netlist.model import Netlist

MAX_BYTES = 64 << 20


def dumps(netlist: Netlist) -> bytes:
    """Return a netlist as canonical UTF-8: the same netlist gives the same bytes, and `loads` gives an equal netlist.

    Fields stand in the order of their dataclass and are left out where they equal their default; attributes are sorted by name.
    """
    return json.dumps(encode(netlist), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def loads(data: bytes) -> Netlist:
    """Return a netlist of the right fields and types; `checks.check` judges what it says.  Raises E0609 with the JSON path."""
    if len(data) > MAX_BYTES:
        raise Error("E0609", f"the netlist has {len(data)} bytes, more than {MAX_BYTES}")
    try:
        raw = json.loads(data.decode("utf-8"), object_pairs_hook=unique_keys, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        reason = "it nests too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise Error("E0609", f"the netlist is not JSON: {reason}") from None
    return decode(Netlist, raw)

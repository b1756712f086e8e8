"""Numpy semantics of tile ops that read where an index tensor says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.core.tiling.arrays import require_room, streams
from ttc.dialects.tile.kernels import KERNELS

KERNELS.add("embedding", lambda table, indices: kernel("nn.gather")(table, indices, axis=0))


NO_ROW = 0xFFFFFFFF
"""Stands for a row of zeros in place of an index."""


@KERNELS.rule("lookup")
def lookup(table: NDArray, indices: NDArray, *, rows: int, cores: int, count: int, t: int) -> NDArray:
    """Return rows of a table; each core takes the first `count` of its indices, as its tiles hold them one after another."""
    source = table.reshape(-1, table.shape[-1])
    wanted = streams(indices, cores)[:, :count].astype(np.int64) & NO_ROW
    missing = wanted == NO_ROW
    outside = (wanted >= len(source)) & ~missing
    if outside.any():
        raise Error("E0802", f"index {wanted[outside][0]} is outside the {len(source)} rows of the table")
    require_room((t, rows, source.shape[1]))
    y = np.zeros((cores, rows // cores, source.shape[1]), table.dtype)
    y[:, :count] = np.where(missing[..., None], 0, source[np.where(missing, 0, wanted)])
    return np.broadcast_to(y.reshape(1, rows, -1), (t, rows, source.shape[1]))

"""Elementwise regions, compiled and called on arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.runtime.engines.native.codegen.code import Code, Signature, compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.storage import array_dtype
from ttc.runtime.engines.native.kernels.eltwise import Eltwise


class Computed:
    """A region as a function of vectors, as they are held."""

    def __init__(self, region: Region, level: str = "amx") -> None:
        self.kernel = Eltwise(region, (False,) * len(region.inputs))
        self.code: Code = compiled([self.kernel], host_cpu().limited_to(level))

    def __call__(self, *xs: NDArray) -> NDArray:
        y = np.empty(xs[0].shape, array_dtype(self.kernel.region.storage))
        xs = tuple(np.ascontiguousarray(x, array_dtype(s)) for x, s in zip(xs, self.kernel.region.inputs, strict=True))
        words = dict.fromkeys(self.kernel.names, 0) | {"rows": 1, "row_blocks": 1, "rows_of_block": 1, "pieces": 1}
        words |= {"columns": y.size, "piece": y.size} | {n: a.ctypes.data for n, a in zip(self.kernel.tensors, (y, *xs), strict=True)}
        job = np.array(list(words.values()), np.int64)
        Signature(self.code.address(self.kernel))(job.ctypes.data, 0, 1, None)
        return y

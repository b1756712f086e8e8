"""Panels of right operands, element by element."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import normal
from ttc.runtime.engines.native.codegen.code import Signature, compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.kernels.gemm_block import Multiplier
from ttc.runtime.engines.native.kernels.packing import ROWS, PackColumns, PackRows
from ttc.runtime.engines.native.kernels.words import words_of


def patterns(x: NDArray) -> NDArray:
    """bfloat16, rounded to nearest even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def expected_panels(b: NDArray, columns: int, multiplier: Multiplier) -> NDArray:
    """[panel, depth, columns], or [panel, depth / 2, columns, 2] of bfloat16."""
    depth, count = b.shape
    panels = -(-count // columns)
    padded = np.zeros((depth, panels * columns), np.float32)
    padded[:, :count] = b
    found = padded.reshape(depth, panels, columns).transpose(1, 0, 2)
    return found if multiplier == "f32" else patterns(found).reshape(panels, depth // 2, 2, columns).transpose(0, 1, 3, 2)


@pytest.mark.parametrize("level", ["amx", "avx2", "generic"])
@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("source", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("multiplier", ["f32", "bf16"])
def test_panels(level: str, by_rows: bool, source: Storage, multiplier: Multiplier) -> None:
    cpu = host_cpu().limited_to(level)
    lanes = max(cpu.vector_bytes // 4, 4)
    kernel = (PackRows if by_rows else PackColumns)(2 * lanes, lanes, source, multiplier)
    code = compiled([kernel], cpu)
    function = Signature(code.address(kernel))
    for depth, count in ((2, 1), (34, 17), (66, 2 * lanes), (lanes, 5 * lanes - 1)):
        b = normal(depth, count)
        held = {"f32": b, "f16": b.astype(np.float16), "bf16": patterns(b)}[source]
        b = {"f32": b, "f16": held.astype(np.float32), "bf16": (held.astype(np.uint32) << 16).view(np.float32)}[source]
        held = np.ascontiguousarray(held if by_rows else held.T)
        expected = np.ascontiguousarray(expected_panels(b, kernel.columns, multiplier))
        target = np.full(expected.nbytes + 64, 0xA5, np.uint8)
        tasks = -(-depth // ROWS) if by_rows else -(-count // kernel.columns)
        values = {"source": held.ctypes.data, "target": target.ctypes.data, "depth": depth, "columns": count}
        words = np.array(words_of(kernel.names, {**values, "line": held.strides[0], "tasks": tasks}), np.int64)
        function(words.ctypes.data, 0, tasks, None)
        np.testing.assert_array_equal(target[: expected.nbytes].view(expected.dtype), expected.ravel())
        assert (target[expected.nbytes :] == 0xA5).all()
    code.close()

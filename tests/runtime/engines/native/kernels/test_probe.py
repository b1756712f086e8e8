"""The kernel that does nothing but multiply and add."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from ttc.runtime.engines.native.codegen.code import Signature, compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.kernels.probe import MultiplyAdd


@pytest.mark.parametrize("tasks", [0, 1, 3])
def test_sums(tasks: int) -> None:
    """Nothing is left out: twelve chains of s = s / 2 + 3 from 3, in every lane."""
    kernel, cpu = MultiplyAdd(), host_cpu()
    code = compiled([kernel], cpu)
    lanes = max(cpu.vector_bytes // 4, 4)
    memory = np.zeros(64, np.float32)
    found = memory[(-memory.ctypes.data // 4) % 16 :][:lanes]
    words = ctypes.create_string_buffer(struct.pack("<fxxxxfxxxxq", 0.5, 3.0, found.ctypes.data))
    Signature(code.address(kernel))(ctypes.addressof(words), 0, tasks, None)
    wanted = 3.0
    for _ in range(tasks):
        wanted = wanted * 0.5 + 3.0
    assert found.tolist() == [12 * wanted] * lanes

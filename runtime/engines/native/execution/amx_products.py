"""Products in tiles of AMX that are compared with those of numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.code import CodeStore, Signature, compiled
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.region import identity
from ttc.runtime.engines.native.kernels.amx_gemm import AmxGemm
from ttc.runtime.engines.native.kernels.amx_integer_gemm import AmxIntegerGemm
from ttc.runtime.engines.native.kernels.amx_integer_pack import PackByteTiles, byte_panel_bytes
from ttc.runtime.engines.native.kernels.amx_pack import PANEL, PackTiles, panel_bytes
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.tile_product import BLOCK
from ttc.runtime.engines.native.kernels.words import words_of
from ttc.runtime.pages import aligned_bytes

_ROWS, _DEPTH, _COLUMNS = 2 * BLOCK + 9, 64, PANEL + 5


def multiplies_right(cpu: Cpu, store: CodeStore | None) -> bool:
    """Return whether products of small integers are what numpy finds, to the bit, of each kind that the CPU has: whole blocks and part of
    one.
    """
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-8, 9, shape).astype(np.int8) for shape in ((_ROWS, _DEPTH), (_DEPTH, _COLUMNS)))
    expected = a.astype(np.int32) @ b.astype(np.int32)
    try:
        floats = not cpu.has_tiles or np.array_equal(_product(a.astype(np.float32), b.astype(np.float32), cpu, store), expected)
        return floats and (not cpu.has_byte_tiles or np.array_equal(_product_of_bytes(a, b, cpu, store), expected))
    except Error:  # LLVM has no such instructions, or the system no memory for code
        return False


def _product(a: NDArray[np.float32], b: NDArray[np.float32], cpu: Cpu, store: CodeStore | None) -> NDArray[np.float32]:
    """a b through the kernels, a in bfloat16."""
    (rows, depth), columns = a.shape, b.shape[1]
    pack, gemm = PackTiles("f32", 1), AmxGemm(1, DenseRows(), identity("f32"))
    narrow = (a.view(np.uint32) >> 16).astype(np.uint16)
    packed, c = aligned_bytes(-(-columns // PANEL) * panel_bytes(depth, 1, 1)), np.zeros((rows, columns), np.float32)
    scratch = aligned_bytes(gemm.scratch_bytes(depth, 1, BLOCK))
    _run((pack, gemm), (narrow, b, packed, c, scratch), {}, cpu, store)
    return c


def _product_of_bytes(a: NDArray[np.int8], b: NDArray[np.int8], cpu: Cpu, store: CodeStore | None) -> NDArray[np.int32]:
    """a b through the kernels."""
    (rows, depth), columns = a.shape, b.shape[1]
    pack, gemm = PackByteTiles("i8"), AmxIntegerGemm("i8", True, DenseRows(), identity("i32"))
    packed, c = aligned_bytes(-(-columns // PANEL) * byte_panel_bytes(depth, 1)), np.zeros((rows, columns), np.int32)
    scratch = aligned_bytes(gemm.scratch_bytes(depth, 1, BLOCK))
    _run((pack, gemm), (a, b, packed, c, scratch), {"low": -128}, cpu, store)
    return c


def _run(
    kernels: tuple[JobKernel, JobKernel], arrays: Sequence[NDArray[Any]], more: dict[str, int], cpu: Cpu, store: CodeStore | None
) -> None:
    """Pack b and multiply.  arrays: a, b, panels, c and scratch memory.  more: further words of the product."""
    a, b, packed, c, scratch = arrays
    (rows, depth), columns = a.shape, b.shape[1]
    sizes = {"depth": depth, "taps": 1, "columns": columns, "panels": -(-columns // PANEL)}
    addresses = {"a": a.ctypes.data, "b": packed.ctypes.data, "c": c.ctypes.data}
    blocks = -(-rows // BLOCK)
    cuts = {"rows": rows, "height": BLOCK, "groups": blocks, "row_chunks": 1, "panel_chunks": 1, "by_rows": 0}
    packing = {"source": b.ctypes.data, "target": packed.ctypes.data, "line": columns * b.itemsize, **sizes}
    product = {**addresses, **sizes, **cuts, "a_row": depth * a.itemsize, "c_row": columns * c.itemsize, **more}
    code = compiled(kernels, cpu, store)
    for kernel, words, tasks in zip(kernels, (packing, product), (sizes["panels"], 1), strict=True):
        values = np.array(words_of(kernel.names, words), np.int64)
        Signature(code.address(kernel))(values.ctypes.data, 0, tasks, scratch.ctypes.data)

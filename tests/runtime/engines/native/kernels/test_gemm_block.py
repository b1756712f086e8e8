"""Which register blocks are chosen."""

from __future__ import annotations

import pytest

from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.region import identity
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.kernels.gemm_block import Block, block_for, fetches_panels
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows

WIDE = Cpu("x86-64", frozenset({"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"}))
NARROW = Cpu("x86-64", frozenset({"avx2", "fma"}))


@pytest.mark.parametrize(
    ("columns", "vectors"), [(1, 1), (16, 1), (24, 2), (32, 2), (48, 3), (64, 4), (96, 3), (144, 3), (768, 4), (1000, 4), (50257, 4)]
)
def test_panels_are_as_wide_as_columns_allow(columns: int, vectors: int) -> None:
    assert block_for(WIDE, 1000, columns).vectors == vectors


@pytest.mark.parametrize(("rows", "height"), [(1, 1), (5, 5), (7, 4), (13, 5), (49, 6), (128, 6), (3136, 6)])
def test_rows_are_cut_into_blocks_of_two_heights(rows: int, height: int) -> None:
    block = block_for(WIDE, rows, 64)
    assert block.rows == height
    blocks = -(-rows // block.rows)
    heights = {(i + 1) * rows // blocks - i * rows // blocks for i in range(blocks)}
    assert heights.issubset(block.counts)


@pytest.mark.parametrize("cpu", [WIDE, NARROW, Cpu("x86-64", frozenset()), Cpu("aarch64", frozenset({"neon"}))])
def test_sums_and_operands_fit_the_registers(cpu: Cpu) -> None:
    registers = 32 if cpu is WIDE or cpu.arch == "aarch64" else 16
    for columns in range(1, 300, 7):
        block = block_for(cpu, 1000, columns)
        assert block.rows * block.vectors + block.vectors + 1 <= registers
        assert block.lanes * 4 == cpu.vector_bytes


def test_panels_hold_all_columns() -> None:
    assert [Block(6, 4, 16).panels(n) for n in (1, 64, 65, 128)] == [1, 1, 2, 2]


@pytest.mark.parametrize(("rows", "vectors", "height"), [(1, 4, 1), (6, 4, 6), (7, 3, 7), (8, 3, 8), (12, 2, 12), (14, 1, 14), (15, 4, 5)])
def test_rows_that_meet_weights_from_memory_are_one_block(rows: int, vectors: int, height: int) -> None:
    block = block_for(WIDE, rows, 768, is_near=False)
    assert (block.vectors, block.rows) == (vectors, height)


def test_panels_from_memory_fill_cache_lines() -> None:
    assert [block_for(NARROW, rows, 768, is_near=False).vectors for rows in (4, 6, 7, 8)] == [3, 2, 3, 3]


@pytest.mark.parametrize(("cpu", "fetches"), [(NARROW, True), (WIDE, False), (Cpu("x86-64", frozenset()), False)])
def test_only_products_of_vectors_of_32_bytes_always_fetch_panels(cpu: Cpu, fetches: bool) -> None:
    assert fetches_panels(cpu) is fetches


@pytest.mark.parametrize("cpu", [NARROW, WIDE, Cpu("x86-64", frozenset())])
@pytest.mark.parametrize("lines", [0, 1, 3])
def test_as_many_lines_are_fetched_for_a_channel_as_the_kernel_says(cpu: Cpu, lines: int) -> None:
    kernel = Gemm(Block(1, 1, cpu.vector_bytes // 4), DenseRows(), identity("f32"), lines=lines)
    assert kernel.llvm_ir(cpu).count(", i32 0, i32 2, i32 1)") == lines

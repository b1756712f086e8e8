"""Blocks of integer products, and the code that CPUs which are not here get."""

from __future__ import annotations

import pytest

from tests.runtime.engines.native.levels import AVX2, AVX512
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.region import identity
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows, WindowRows
from ttc.runtime.engines.native.kernels.integer_gemm import Factor, IntegerGemm, integer_block

CPUS = {
    "vnni": (AVX512 | {"avx512vnni"}, "vpdpwssd", "zmm"),
    "avx512": (AVX512, "vpmaddwd", "zmm"),
    "avxvnni": (AVX2 | {"avxvnni"}, "vpdpwssd", "ymm"),
    "avx2": (AVX2, "vpmaddwd", "ymm"),
    "generic": (frozenset[str](), "pmaddwd", "xmm"),
}


@pytest.mark.parametrize("name", CPUS)
@pytest.mark.parametrize("factor", ["i8", "i16"])
def test_every_cpu_multiplies_pairs(name: str, factor: Factor) -> None:
    from ttc.runtime.engines.native.codegen.machine_code import assembly

    features, instruction, register = CPUS[name]
    cpu = Cpu("x86-64", features)
    block = integer_block(cpu, 100, 64)
    text = assembly(IntegerGemm(block, WindowRows(), identity("i32"), factor=factor).llvm_ir(cpu), cpu)
    products = [line for line in text.splitlines() if instruction in line and register in line]
    assert len(products) == block.vectors * sum(block.counts) * (5 if name == "avx2" else 1)  # four pairs a round, and one
    assert ("pmovsxbw" in text or "punpcklbw" in text) == (factor == "i8")


def test_no_instruction_saturates() -> None:
    from ttc.runtime.engines.native.codegen.machine_code import assembly

    for features, _, _ in CPUS.values():
        cpu = Cpu("x86-64", features)
        kernel = IntegerGemm(integer_block(cpu, 9, 20), DenseRows(), identity("i32"))
        text = assembly(kernel.llvm_ir(cpu), cpu)
        assert not [word for word in ("pmaddubsw", "dpwssds", "dpbusds", "paddsw") if word in text]


@pytest.mark.parametrize("name", CPUS)
def test_sums_operands_and_a_product_fit_the_registers(name: str) -> None:
    cpu = Cpu("x86-64", CPUS[name][0])
    for columns in (1, 8, 17, 24, 64, 1000):
        for rows in (1, 5, 49, 1000):
            block = integer_block(cpu, rows, columns)
            assert block.rows * block.vectors + block.vectors + 2 <= (32 if cpu.vector_bytes == 64 else 16)
            assert block.lanes * 4 == cpu.vector_bytes

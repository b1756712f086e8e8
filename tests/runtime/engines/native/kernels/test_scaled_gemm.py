"""What scaled products are compiled to; their numbers: `test_scaled_products`."""

from __future__ import annotations

import pytest

from tests.runtime.engines.native.levels import AVX2, AVX512
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.region import identity
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows
from ttc.runtime.engines.native.kernels.integer_gemm import integer_block
from ttc.runtime.engines.native.kernels.scaled_gemm import ScaledGemm
from ttc.runtime.engines.native.kernels.scaled_parts import WORDS


@pytest.mark.parametrize(
    ("features", "instruction", "register", "rounds"),
    [(AVX2, "vpmaddwd", "ymm", WORDS), (AVX2 | {"avxvnni"}, "vpdpwssd", "ymm", 1), (AVX512 | {"avx512vnni"}, "vpdpwssd", "zmm", 1)],
    ids=["avx2", "avxvnni", "avx512vnni"],
)
@pytest.mark.parametrize("rows", [1, 100])
def test_sums_stay_in_registers(features: frozenset[str], instruction: str, register: str, rounds: int, rows: int) -> None:
    from ttc.runtime.engines.native.codegen.machine_code import assembly

    cpu = Cpu("x86-64", features)
    block = integer_block(cpu, rows, 64)
    text = assembly(ScaledGemm(block, DenseRows(), identity("f32")).llvm_ir(cpu), cpu)
    products = [line for line in text.splitlines() if instruction in line and register in line]
    assert len(products) == block.vectors * sum(block.counts) * rounds
    for line in text.splitlines():
        assert not ("vpaddd" in line and "rsp" in line)

"""Which products are those of scaled integers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.runtime.engines.native.levels import AVX2, AVX512
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, dense
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.scaled_choice import are_scaled

HELD = dense(PlanBuffer(4, Place.CONSTANT), "f32", (256, 256))
BATCH = dense(PlanBuffer(4, Place.CONSTANT), "f32", (2, 256, 256))
COMPUTED = dense(PlanBuffer(4), "f32", (256, 256))


def scaled(
    precision: str, features: frozenset[str] = AVX2, right: Any = HELD, *, columns: int = 256, depth: int = 256, taps: int = 1
) -> bool:
    lowering = SimpleNamespace(cpu=Cpu("x86-64", features), node=SimpleNamespace(op=SimpleNamespace(precision=precision)))
    return are_scaled(cast("Lowering", lowering), right, columns, depth, taps)


def test_only_where_less_is_asked_than_float32() -> None:
    assert [scaled(precision) for precision in ("float32", "high", "bfloat16")] == [False, True, True]
    assert not scaled("bfloat16", AVX512 | {"avx512vnni", "avx512bf16"})  # it multiplies bfloat16 itself


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (AVX2, True),
        (AVX512, False),  # as many products a second as of float32
        (AVX512 | {"avx512vnni"}, True),
        (AVX512 | {"avx512vnni", "amx-tile", "amx-bf16"}, False),
        (frozenset({"sse3"}), False),
    ],
    ids=["avx2", "avx512", "vnni", "amx", "generic"],
)
def test_only_where_integers_are_faster(features: frozenset[str], expected: bool) -> None:
    assert scaled("high", features) == expected


def test_only_weights_that_all_rows_meet() -> None:
    assert not scaled("high", right=COMPUTED)
    assert not scaled("high", right=BATCH)


def test_only_large_ones() -> None:
    assert not scaled("high", depth=127)
    assert not scaled("high", columns=127)
    assert scaled("high", columns=32, taps=4)

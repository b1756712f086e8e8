"""Which products are multiplied in tiles."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.runtime.engines.native.graphs import emulated_tiles
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, dense
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.tile_choice import tile_parts

AMX = Cpu("x86-64", frozenset({"amx-tile", "amx-bf16", "fma"}))
HELD = dense(PlanBuffer(4, Place.CONSTANT), "f32", (1,))
COMPUTED = dense(PlanBuffer(4), "f32", (1,))


def parts(precision: str, *sizes: int, cpu: Cpu = AMX, right: Any = HELD) -> int:
    lowering = SimpleNamespace(cpu=cpu, node=SimpleNamespace(op=SimpleNamespace(precision=precision)))
    return tile_parts(cast("Lowering", lowering), right, *sizes)


def test_precision_says_in_how_many_parts() -> None:
    assert [parts(precision, 128, 768, 768) for precision in ("bfloat16", "high", "float32")] == [1, 2, 3]


@pytest.mark.parametrize("precision", ["bfloat16", "high", "float32"])
def test_none_without_tiles(precision: str) -> None:
    assert parts(precision, 128, 768, 768, cpu=AMX.without("amx-tile")) == 0


def test_float32_is_split_where_computing_takes_long() -> None:
    assert parts("float32", 197, 768, 768) == parts("float32", 64, 768, 3072) == parts("float32", 32, 768, 768) == 3
    assert parts("float32", 16, 768, 768) == 0  # reading six bytes of each weight takes longer than multiplying four
    assert parts("float32", 64, 32, 768) == parts("float32", 1024, 36, 36) == parts("float32", 512, 100, 100) == 0
    assert parts("float32", 49, 512, 512, 9) == 0  # Winograd's way has fewer products
    assert parts("float32", 128, 768, 768, right=COMPUTED) == 0
    assert parts("high", 128, 768, 768, right=COMPUTED) == 2


def test_splitting_rows_must_pay() -> None:
    assert parts("high", 1024, 128, 128) == 2
    assert parts("high", 256, 48, 48) == parts("high", 65536, 16, 16, 9) == parts("high", 65536, 16, 32, 9) == 0


def test_columns_of_half_a_panel_take_half_the_tiles() -> None:
    assert parts("bfloat16", 65536, 16, 16, 9) == 1


def test_few_rows_are_tiles_of_padding_that_take_no_longer_than_reading_the_weights() -> None:
    assert parts("bfloat16", 3, 768, 768) == parts("high", 1, 768, 768) == 0
    assert parts("bfloat16", 4, 768, 768) == 1
    assert parts("high", 4, 768, 768) == 2


def test_taps_of_few_channels_are_mostly_padding() -> None:
    assert parts("bfloat16", 3136, 64, 3, 49) == parts("bfloat16", 3136, 64, 7, 7) == 0
    assert parts("bfloat16", 3136, 64, 9, 3) == 1
    assert parts("bfloat16", 12544, 64, 21, 7) == 1
    assert parts("high", 3136, 64, 64, 9) == 2


def test_wild_sizes_are_left_alone() -> None:
    assert parts("high", 128, 64, 1 << 20) == 0
    assert parts("high", 1, 1, 1 << 20, cpu=emulated_tiles()) == 0
    assert parts("high", 1, 1, 1, cpu=emulated_tiles()) == 2

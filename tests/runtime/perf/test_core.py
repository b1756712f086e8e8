"""Cycles of primitives on one core."""

import pytest

from ttc.runtime.perf.core import core_cycles
from ttc.runtime.perf.functions import ENGINE
from ttc.runtime.perf.work import CoreWork

ARCHS = ("wormhole_b0", "grayskull", "blackhole")
BASE = CoreWork("nop", ("Float16_b", "Float16_b"), "Float16_b", 1, (2, 4), (2, 2), fidelity="HiFi3")
WORKS = [
    *(BASE._replace(op=op) for op in ("nop", "add", "exp", "maximum", "splice", "quantization")),
    BASE._replace(op="exp", approximate=True, vector="r"),
    *(BASE._replace(op="reduce", dim=dim, z=4) for dim in ("r", "c", "z")),
    BASE._replace(op="matmul", inner=(4, 2)),
    BASE._replace(op="matmul", inner=(4, 2), l1_acc=True),
    BASE._replace(op="matmul", inner=(1, 8), then=("gelu",)),
    BASE._replace(op="depthwise", inner=(9, 1)),
    BASE._replace(op="sparse_matmul", inner=(4, 4), sparse=(4, 20, 80)),
]
MORE = [
    {"t": 2},
    {"mblock": (3, 4)},
    {"mblock": (2, 5)},
    {"mblock": (4, 8)},
    {"ublock": (2, 4)},
    {"ublock": (3, 2)},
]


@pytest.mark.parametrize("work", WORKS, ids=lambda w: f"{w.op}-{w.dim}{w.inner}")
@pytest.mark.parametrize("arch", ARCHS)
def test_more_tiles_never_cost_less(work: CoreWork, arch: str) -> None:
    found = core_cycles(work, arch)
    assert 0 < found.core <= found.total
    for changes in MORE:
        assert core_cycles(work._replace(**changes), arch) >= found
        assert core_cycles(work._replace(**changes), arch).total >= found.total


@pytest.mark.parametrize("arch", ARCHS)
def test_deeper_products_and_finer_fidelities_cost_more(arch: str) -> None:
    work = BASE._replace(op="matmul", inner=(2, 4))
    deeper = [core_cycles(work._replace(inner=inner), arch).total for inner in ((1, 4), (2, 4), (4, 4), (4, 8))]
    finer = [core_cycles(work._replace(fidelity=f, inner=(1, 16)), arch).math for f in ("LoFi", "HiFi2", "HiFi3", "HiFi4")]
    assert deeper == sorted(deeper)
    assert finer == sorted(finer)
    assert finer[3] == pytest.approx(4 * finer[0], rel=0.2)


def test_a_matmul_runs_near_the_rate_of_the_matrix_engine() -> None:
    work = CoreWork("matmul", ("Float16_b", "Float16_b"), "Float16_b", 1, (4, 2), (2, 4), (1, 16), "HiFi4")
    assert core_cycles(work, "wormhole_b0").core == pytest.approx(64 * work.tiles * 16, rel=0.1)


def test_one_outer_block_of_k_is_cheaper_than_several() -> None:
    work = CoreWork("matmul", ("Bfp8_b", "Bfp8_b"), "Bfp8_b", 1, (2, 2), (2, 2), (1, 8), "LoFi", "Float16_b")
    assert core_cycles(work._replace(inner=(8, 1)), "wormhole_b0").core > 2 * core_cycles(work, "wormhole_b0").core


def test_vector_modes_compute_a_part_of_a_tile() -> None:
    work = CoreWork("exp", ("Float16_b",), "Float16_b", 1, (4, 4), (1, 4))
    whole, columns, rows = (core_cycles(work._replace(vector=v), "wormhole_b0").math for v in ("rc", "c", "r"))
    assert rows / work.tiles == pytest.approx(255.1, rel=0.05)  # the maker's weights for the two modes
    assert columns / work.tiles == pytest.approx(906.0, rel=0.05)
    assert whole / work.tiles == pytest.approx(1771.0, rel=0.01)


def test_what_stays_in_l1_needs_no_pipes() -> None:
    found = core_cycles(BASE._replace(op="add", local=True), "wormhole_b0")
    assert found.pipes == 0
    assert found.total == found.core


def test_wide_formats_wait_for_their_pipes() -> None:
    block, word = (core_cycles(BASE._replace(inputs=(f,), output=f, ublock=(2, 4)), "wormhole_b0") for f in ("Bfp8_b", "Float32"))
    assert word.limit == "pipes"
    assert word.total > 3 * block.total
    assert core_cycles(BASE._replace(inputs=("Float32",), output="Float32"), "blackhole").pipes == pytest.approx(word.pipes / 4, rel=0.01)


@pytest.mark.parametrize("op", [*ENGINE, "matmul", "depthwise", "sparse_matmul", "reduce"])
def test_every_primitive_costs_something_in_every_format(op: str) -> None:
    for format_ in ("Float32", "Float16", "Float16_b", "Bfp8_b", "Bfp4", "Bfp2_b", "Lf8", "Int8", "Int32", "UInt16"):
        found = core_cycles(BASE._replace(op=op, inputs=(format_, format_), output=format_, intermediate=format_), "wormhole_b0")
        assert 0 < found.total < 1e6

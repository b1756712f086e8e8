"""How programs are spread over chips, by the performance model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.passes.nn_to_tile.encoders import Encoder
from tests.ttc.compiler.test_driver_chips import network
from ttc.compiler.driver import compile_path
from ttc.dialects.core.machines.chip_groups import ChipGroups
from ttc.dialects.core.machines.clusters import mesh
from ttc.dialects.core.machines.targets import load_target
from ttc.options import CompileOptions, resolve
from ttc.passes import spread as spread_module
from ttc.passes.base import Unit
from ttc.passes.microbatch import compiled
from ttc.passes.nn_to_tile import stream_batch
from ttc.passes.pipeline import PipelineSettings
from ttc.passes.spread import best_spread


def unit_of(path: Path, batch: int, chips: int) -> Unit:
    """Layers at the end of stage nn, for a row of chips."""
    onnx.save(network(3), path / "layers.onnx")
    unit = compile_path(path / "layers.onnx", resolve(CompileOptions, {"batch": batch, "to": "nn"})).unit
    cluster = mesh(f"1x{chips}") if chips > 1 else None
    target = load_target("n150")
    return Unit(unit.module, unit.weights, target if cluster is None else cluster.of_target(target))


def spread(unit: Unit, **fields: object) -> tuple[int, int | None]:
    """Chips and replicas that are chosen."""
    found = best_spread(unit, PipelineSettings(chips=tuple(range(unit.target.chips)), **fields))  # pyright: ignore[reportArgumentType]
    return len(found.chips), found.replicas


@pytest.mark.parametrize(("batch", "chips", "found"), [(8, 4, (4, 4)), (64, 1, (1, None))])
def test_where_there_is_one_way(batch: int, chips: int, found: tuple[int, int | None], tmp_path: Path) -> None:
    assert spread(unit_of(tmp_path, batch, chips)) == found


def test_the_fastest_way_is_taken(tmp_path: Path) -> None:
    """Six samples on four chips: three replicas and an idle chip, or two replicas of one or two chips."""
    unit = unit_of(tmp_path, 6, 4)
    before = str(unit.module)
    wanted = PipelineSettings(chips=(0, 1, 2, 3))
    found = best_spread(unit, wanted)
    ways = [PipelineSettings(chips=tuple(range(count * size)), replicas=count) for count, size in ((3, 1), (2, 2), (2, 1))]
    cycles = [compiled(unit, way)[1] for way in ways]
    assert found in ways
    assert compiled(unit, found)[1] == min(cycles)
    assert str(unit.module) == before
    assert spread(unit, parallel="pipeline") == (4, None)


def test_weights_that_a_chip_has_no_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = unit_of(tmp_path, 4, 4)
    weights = stream_batch.weight_bytes(unit, None)
    assert weights >= 2 * 96 * 96 * 4
    monkeypatch.setattr(stream_batch, "dram_bytes", lambda target: weights * 7 // 8)
    assert spread(unit) == (4, 2)
    assert spread(unit, format="Bfp8_b") == (4, 4)
    monkeypatch.setattr(stream_batch, "dram_bytes", lambda target: weights // 8)
    assert spread(unit) == (4, 1)


def test_one_sample_through_an_encoder_is_divided(tmp_path: Path, rng: np.random.Generator) -> None:
    onnx.save(Encoder(rng, rows=768).model(), tmp_path / "encoder.onnx")
    unit = compile_path(tmp_path / "encoder.onnx", resolve(CompileOptions, {"to": "nn"})).unit
    cluster = mesh("1x2")
    assert cluster is not None
    unit = Unit(unit.module, unit.weights, cluster.of_target(load_target("n150")))
    wanted = PipelineSettings(chips=(0, 1))
    found = best_spread(unit, wanted)
    assert found == replace(wanted, replicas=1, divides=found.divides)
    assert found.divides == ChipGroups(((0, 1),), 2)
    others = [replace(wanted, replicas=1), replace(wanted, replicas=1, turns=True)]
    assert compiled(unit, found)[1] < min(compiled(unit, way)[1] for way in others)


def test_large_groups_of_long_programs_divide_rows_and_columns(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ways as (groups, chips of a group, parts of the rows)."""
    onnx.save(Encoder(rng, rows=768).model(), tmp_path / "encoder.onnx")
    unit = compile_path(tmp_path / "encoder.onnx", resolve(CompileOptions, {"to": "nn"})).unit
    machines = {chips: mesh(f"1x{chips}") for chips in (7, 8)}
    tried: list[tuple[int, int, int]] = []

    def cost(_: Unit, way: PipelineSettings) -> tuple[None, int]:
        if way.divides is not None:
            tried.append((len(way.divides.groups), len(way.divides.groups[0]), way.divides.rows))
        return None, len(tried)

    monkeypatch.setattr(spread_module, "compiled", cost)
    groups_in_turn = [(2, 4, 1), (2, 4, 2), (2, 4, 4), (4, 2, 1), (4, 2, 2)]
    wanted = {
        (8, 100): [(1, 8, 1), (1, 8, 2), (1, 8, 4), (1, 8, 8), *groups_in_turn],
        (8, 0): [(1, 8, 2), (1, 8, 4), *groups_in_turn],
        (7, 0): [(1, 7, 1), (1, 7, 7)],
    }
    for (chips, few), ways in wanted.items():
        tried.clear()
        monkeypatch.setattr(spread_module, "FEW_OPS", few)
        cluster = machines[chips]
        assert cluster is not None
        row = Unit(unit.module, unit.weights, cluster.of_target(load_target("n150")))
        best_spread(row, PipelineSettings(chips=tuple(range(chips)), parallel="tensor"))
        assert tried == ways

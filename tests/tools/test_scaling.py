"""Steps in many processes are worked out as the simulator, and rings of messages, say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import scaling
import scaling_model as model

MEASURED = {"forward": 1.0, "backward": 2.0, "update": 0.5, "step": 0.25, "parameters": 1000, "activation_bytes": 400}
NO_LINK = {"latency": 0.0, "rate": float("inf")}


def seconds(layout: tuple[int, int, bool], link: dict[str, float] = NO_LINK, cores: int | None = None) -> float:
    measured, made = model.Measured(**MEASURED), model.Layout(*layout)
    return model.predicted(measured, model.Link(**link), made, blocks=8, microbatches=16, cores=cores).seconds


def test_one_process_does_all_the_work() -> None:
    assert seconds((1, 1, False)) == 16 * 8 * 3 + 8 * 0.5 + 0.25


@pytest.mark.parametrize("stages", [2, 4, 8])
def test_a_pipeline_waits_for_its_ends(stages: int) -> None:
    """A pipeline of equal stages takes as long as microbatches and stages but one, which is the known share of waiting."""
    work = (16 + stages - 1) * 8 / stages * 3
    assert seconds((stages, 1, False)) == pytest.approx(work + 8 / stages * 0.5 + 0.25)


def test_messages_between_stages_take_their_time() -> None:
    link = {"latency": 0.5, "rate": 800.0}
    late = seconds((2, 1, False), link) - seconds((2, 1, False))
    assert late >= 2 * (0.5 + 400 / 800)


@pytest.mark.parametrize("replicas", [2, 8])
def test_replicas_exchange_gradients(replicas: int) -> None:
    link = {"latency": 0.1, "rate": 1e4}
    ring = 2 * (replicas - 1) * (0.1 + 8 * 4000 / replicas / 1e4)
    assert seconds((1, replicas, False), link) == pytest.approx(16 / replicas * 24 + ring + 4 + 0.25)


def test_shards_hold_less_and_exchange_more() -> None:
    link = model.Link(0.1, 1e4)
    whole, shared = (
        model.predicted(model.Measured(**MEASURED), link, model.Layout(1, 4, is_shared), blocks=8, microbatches=16)
        for is_shared in (False, True)
    )
    assert shared.state_bytes == whole.state_bytes / 4 == 8 * 1000 * 16 / 4
    assert shared.exchanging > whole.exchanging


def test_fewer_cores_than_processes() -> None:
    assert seconds((4, 1, False), cores=2) == pytest.approx((16 * 8 * 3 + 8 * 0.5) / 2 + 0.25)
    assert seconds((4, 1, False), cores=4) == seconds((4, 1, False))


def test_layouts_are_all_that_fit() -> None:
    found = {(layout.pipe, layout.data, layout.shared) for layout in model.layouts(8, blocks=4, microbatches=16)}
    assert found == {(pipe, 8 // pipe, shared) for pipe in (1, 2, 4) for shared in (False, True)}


def test_the_table_is_made_of_measurements(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "BLOCKS", 16)
    monkeypatch.setattr(scaling, "MICROBATCHES", 512)
    path = tmp_path / "measured.json"
    path.write_text(json.dumps({"one": MEASURED, "link": {"latency": 1e-4, "rate": 1e9}}))
    assert scaling.main(["--json", str(path), "--network", "1:1e3"]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith(("| 8 |", "| 64 |", "| 512 |"))]
    speeds = [
        {processes: max(float(row[3]) for row in half if row[0] == processes) for processes in ("| 8", "| 64", "| 512")}
        for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :])
    ]
    assert speeds[0]["| 8"] == pytest.approx(8, rel=0.01)
    assert speeds[0]["| 512"] > 100
    assert speeds[1]["| 512"] < speeds[0]["| 512"] / 2

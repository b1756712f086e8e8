"""Runs: where they begin, what they leave, and that a run that goes on gives the bits of one that was never stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.train.digits import BATCH, CLASSES, ROWS, samples, write_samples
from ttc.dialects.core.errors import Error, TtcWarning
from ttc.runtime.machine.session import Session
from ttc.settings.loop_options import LoopOptions
from ttc.train.log import LogLine, read_log
from ttc.train.start import start

Begin = Callable[..., list[LogLine]]


@pytest.fixture
def begin(session: Session, tmp_path: Path) -> Begin:
    """Does a run with options on samples, in a session that begins anew."""
    data = write_samples(tmp_path / "data.npz")

    def run(**options: Any) -> list[LogLine]:
        session.reset()
        begun = start(session, LoopOptions(**{"data": data, "seed": 3, "shuffle": True, **options}), lambda line, total: None)
        try:
            return begun.run.go(begun.update)
        finally:
            if begun.run.log is not None:
                begun.run.log.close()

    return run


def values(session: Session) -> dict[str, np.ndarray]:
    return {**session.parameters(), **session.states()}


def error(call: Callable[..., Any], **options: Any) -> Error:
    with pytest.raises(Error) as caught:
        call(**options)
    return caught.value


def test_the_loss_falls(begin: Begin, tmp_path: Path) -> None:
    lines = begin(epochs=20, lr=0.05, val=write_samples(tmp_path / "val.npz"), schedule="cosine")
    assert (len(lines), lines[-1].epoch) == (20 * ROWS // BATCH, 20)
    last = lines[-1]
    assert last.validation_loss is not None
    assert last.accuracy is not None
    assert last.validation_loss < 0.3 * lines[0].loss
    assert last.accuracy > 0.9
    assert lines[0].learning_rate == 0.05
    assert last.learning_rate < 1e-4


@pytest.mark.parametrize("options", [{}, {"batch": 2 * BATCH}], ids=["fused", "accumulated"])
def test_a_run_that_goes_on_gives_the_same_bits(begin: Begin, session: Session, tmp_path: Path, options: dict[str, Any]) -> None:
    common = {"epochs": 3, "schedule": "onecycle", "log": tmp_path / "log.csv", "every": 1, "keep": 100, **options}
    whole = begin(**common, checkpoint=tmp_path / "whole")
    wanted, logged = values(session), read_log(tmp_path / "log.csv")
    for path in sorted((tmp_path / "whole").iterdir()):
        rest = begin(data=tmp_path / "data.npz", log=tmp_path / "log.csv", resume=str(path))
        done = len(whole) - len(rest)
        assert path.name == f"update-{done:08}.safetensors"
        assert [line.loss for line in rest] == [line.loss for line in whole[done:]]
        assert [line.update for line in read_log(tmp_path / "log.csv")] == [line.update for line in logged]
        for name, value in values(session).items():
            np.testing.assert_array_equal(value, wanted[name])


def test_auto_takes_the_newest_that_is_whole(begin: Begin, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    whole = begin(epochs=2, checkpoint=folder, every=2, keep=3, resume="auto")
    kept = sorted(folder.iterdir())
    assert [path.stem for path in kept] == ["update-00000008", "update-00000010", "update-00000012"]
    assert begin(epochs=2, checkpoint=folder, resume="auto") == []
    kept[-1].write_bytes(kept[-1].read_bytes()[:-100])
    kept[-2].write_bytes(b"")
    with pytest.warns(TtcWarning, match="passed over"):
        rest = begin(epochs=2, checkpoint=folder, resume="auto")
    assert [line.loss for line in rest] == [line.loss for line in whole[8:]]


def test_none_that_is_whole(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "update-00000001.safetensors").write_bytes(b"x")
    with pytest.warns(TtcWarning, match="passed over"):
        assert error(begin, checkpoint=tmp_path, resume="auto").code == "E0807"


@pytest.mark.parametrize(
    ("changes", "options", "code", "message"),
    [
        ({"target": np.full(ROWS, CLASSES)}, {}, "E0802", f"holds {CLASSES} in row 0"),
        ({}, {"batch": 5}, "E0801", "no multiple of the 4 rows"),
        ({}, {"batch": 20}, "E0801", "24 rows are not a multiple of the batch of 20"),
        ({"x": np.full((ROWS, 6), np.nan)}, {"stop_at_nan": True}, "E0808", "'x' holds nan in row 0"),
        ({}, {"stop_at_nan": True, "lr": 1e38, "epochs": 3}, "E0808", "the loss of update"),
        ({}, {"resume": "absent"}, "E0102", "cannot open"),
        ({}, {"schedule": "cosin"}, "E0101", "no schedule"),
    ],
)
def test_what_cannot_be_trained_on(
    begin: Begin, session: Session, tmp_path: Path, changes: dict[str, Any], options: dict[str, Any], code: str, message: str
) -> None:
    data = write_samples(tmp_path / "data.npz", **changes)
    found = error(begin, data=data, checkpoint=tmp_path / "checkpoints", every=100, **options)
    assert (found.code, message in found.message) == (code, True), found.message
    assert not (tmp_path / "checkpoints").exists()


def test_a_checkpoint_of_another_run(begin: Begin, session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    begin(checkpoint=folder)
    (path,) = folder.iterdir()
    assert "was 3" in error(begin, resume=str(path), seed=4).message
    other = write_samples(tmp_path / "other.npz", 28)
    assert "28 rows, and had 24" in error(begin, data=other, resume=str(path)).message
    session.checkpoint(path)
    assert error(begin, resume=str(path)).code == "E0807"


def test_rows_that_are_left_out(begin: Begin, tmp_path: Path) -> None:
    data = write_samples(tmp_path / "data.npz", ROWS + 3)
    assert len(begin(data=data, partial="drop")) == ROWS // BATCH


def test_samples_are_those_that_the_network_learns() -> None:
    assert sorted(np.unique(samples()["target"]).tolist()) == [0, 1, 2]

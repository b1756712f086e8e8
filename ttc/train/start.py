"""From the options of `ttc train` to a run: samples that fit the program, and where an earlier run stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.runtime.machine.session import Session
from ttc.settings.loop_options import AUTO, LoopOptions
from ttc.settings.records import flag_of
from ttc.train.batches import Batches, check_divides
from ttc.train.checkpoints import Checkpoints, Position, resumed
from ttc.train.data import Data, read_data
from ttc.train.log import Log
from ttc.train.loop import Told, TrainingRun
from ttc.train.schedules import parse
from ttc.train.updates import STEP, Updates, training_of

SEED = "random.seed"
"""The name of the state that dropout draws from."""


@record(eq=False)
class Start:
    """Everything that a run needs to begin.

    Args:
        run: it.
        update: that it begins at.
        resumed: the checkpoint that it goes on from; None: it begins anew.
    """

    run: TrainingRun
    update: int
    resumed: Path | None


def start(session: Session, options: LoopOptions, told: Told) -> Start:
    """Read the samples, check them against the program, and go on from a checkpoint where that is asked for.

    Args:
        session: on a training archive, as it was loaded.
        options: of the run; `data` is given.
        told: is told of each update.
    Raises: E0101 for options that contradict a checkpoint, E0102, E0801, E0802 and E0808 for samples, E0803 for an archive that cannot be
            trained, E0807 for a checkpoint.
    """
    updates = Updates(session, training_of(session))
    if STEP not in session.programs:
        raise Error("E0803", "the archive has no optimizer", hint="compile it with --loss and --optimizer")
    checkpoints = None if options.checkpoint is None else Checkpoints(options.checkpoint, options.keep)
    found = _resumed(session, options, checkpoints)
    path, position = found if found is not None else (None, None)
    chosen = _chosen(options, position, updates.whole)
    updates.check_rows(chosen.batch, "a batch")
    data, validation = _samples(options, updates, chosen.batch)
    if position is not None and position.rows != data.rows:
        raise Error("E0801", f"the data have {data.rows} rows, and had {position.rows} as the checkpoint was written", where=data.where)
    if position is None and SEED in session.description.states:
        session.assign({}, {SEED: np.asarray(options.seed, np.int64)})
    update = 0 if position is None else position.update
    log = None if options.log is None else Log(options.log, update)
    run = TrainingRun(
        updates=updates,
        data=data,
        validation=validation,
        batches=Batches(data.rows, chosen.batch, chosen.shuffle, chosen.seed),
        epochs=chosen.epochs,
        schedule=parse(chosen.schedule),
        rate=chosen.rate,
        checkpoints=checkpoints,
        every=options.every,
        log=log,
        stop_at_nan=options.stop_at_nan,
        told=told,
    )
    return Start(run, update, path)


def _resumed(session: Session, options: LoopOptions, checkpoints: Checkpoints | None) -> tuple[Path, Position] | None:
    if options.resume is None:
        return None
    if options.resume != AUTO:
        path = Path(options.resume)
        return path, resumed(session, path)
    return None if checkpoints is None else checkpoints.resume(session)


def _chosen(options: LoopOptions, position: Position | None, batch: int) -> Position:
    """Return what the run does: what was given, else what the checkpoint has.  Raises E0101 for what would make its position another one.

    batch: where nobody gave one.
    """
    asked = Position(0, 1, options.batch or batch, options.shuffle, options.seed, options.schedule, options.lr, options.epochs)
    if position is None:
        return asked
    for name in ("batch", "shuffle", "seed"):
        then, now = getattr(position, name), getattr(asked, name)
        if name in options.given and now != then:
            raise Error(
                "E0101", f"{flag_of(name)} is {now}, and was {then} as the checkpoint was written", hint=f"leave out {flag_of(name)}"
            )
    given = {name: getattr(asked, name) for name in ("schedule", "epochs") if name in options.given}
    return replace(position, **given, **({"rate": options.lr} if "lr" in options.given else {}))


def _samples(options: LoopOptions, updates: Updates, batch: int) -> tuple[Data, Data | None]:
    """Samples to train on and to validate with, checked."""
    if options.data is None:
        raise Error("E0101", "there is nothing to train on", hint="add --data FILE.npz, or a folder of .npy files")
    found = [None if path is None else read_data(path, updates.columns) for path in (options.data, options.val)]
    for data, size in zip(found, (batch, updates.batch), strict=True):
        if data is None:
            continue
        check_divides(data.rows, size, data.where, options.partial)
        _check_labels(data, updates)
        if options.stop_at_nan:
            data.check_finite()
    data, validation = found
    if data is None:
        raise Error("E0901", "the data that were read are gone")
    return data, validation


def _check_labels(data: Data, updates: Updates) -> None:
    """Raise E0802 for a target that is no class, where targets are classes."""
    training = updates.training
    if training.classes is not None:
        data.check_range(training.targets[0], 0, training.classes, training.ignore_index)

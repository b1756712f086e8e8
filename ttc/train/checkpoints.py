"""Folders of checkpoints: a file an update at which one was written, the newest that is whole, and how many are kept."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ttc.dialects.core.errors import Error, warn
from ttc.dialects.core.records import record
from ttc.inputs.files import require_folder

if TYPE_CHECKING:
    from ttc.dialects.core.plain.functions import Plain
    from ttc.runtime.machine.session import Session

_NAME = re.compile(r"update-(\d{8,})\.safetensors")


@record
class Position:
    """The position of a run, and what it takes to go on from there, beside what the session holds.

    Args:
        update: updates that were done.
        rows, batch: of the data set, and of an update.
        shuffle, seed: of the order of rows.
        schedule: its text.
        rate: that it starts from; None: the archive's.
        epochs: of the whole run.
    """

    update: int
    rows: int
    batch: int
    shuffle: bool
    seed: int
    schedule: str
    rate: float | None
    epochs: int

    def notes(self) -> dict[str, Plain]:
        """Return the position as notes of a checkpoint hold it."""
        return {name: getattr(self, name) for name in _TYPES}

    @staticmethod
    def of_notes(notes: dict[str, Plain], where: str) -> Position:
        """Return the position from the notes of a checkpoint. Raises E0807 if a training run did not write it."""
        found = {name: notes.get(name) for name in _TYPES}
        if notes.keys() != _TYPES.keys() or any(type(found[name]) not in kinds for name, kinds in _TYPES.items()):
            raise Error("E0807", "the checkpoint was not written by a training run", where=where)
        position = Position(**found)  # pyright: ignore[reportArgumentType] - the types are checked above
        if min(position.update, position.rows - 1, position.batch - 1, position.epochs - 1) < 0:
            raise Error("E0807", "the checkpoint's position in the data is out of range", where=where)
        return position


_TYPES: dict[str, tuple[type, ...]] = {
    **{"update": (int,), "rows": (int,), "batch": (int,), "shuffle": (bool,), "seed": (int,)},
    **{"schedule": (str,), "rate": (float, type(None)), "epochs": (int,)},
}


@record(eq=False)
class Checkpoints:
    """A folder that holds the newest checkpoints.

    Args:
        folder: that is made if it is not there.
        keep: how many of the newest stay.
    """

    folder: Path
    keep: int

    def save(self, session: Session, position: Position) -> Path:
        """Write a checkpoint, whole or not at all, and remove those that are too old.  Raises E0103."""
        require_folder(self.folder)
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"update-{position.update:08}.safetensors"
        session.checkpoint(path, position.notes())
        for old in self.newest_first()[self.keep :]:
            with suppress(OSError):  # a file that somebody else removed, or that cannot be: there is no harm in it
                old.unlink()
        return path

    def newest_first(self) -> list[Path]:
        """Return the checkpoints of the folder.  Raises E0102 if it cannot be read."""
        try:
            names = os.listdir(self.folder) if self.folder.is_dir() else []
        except OSError as error:
            raise Error("E0102", f"cannot read {self.folder}: {error.strerror}") from None
        numbered = [(int(found[1]), name) for name in names if (found := _NAME.fullmatch(name))]
        return [self.folder / name for _, name in sorted(numbered, reverse=True)]

    def resume(self, session: Session) -> tuple[Path, Position] | None:
        """Go on from the newest checkpoint that is whole; those that are damaged are warned of.  None if the folder has none.

        Raises: E0807 if none is whole, or the newest whole one is of another model.
        """
        first: Error | None = None
        for path in self.newest_first():
            try:
                return path, resumed(session, path)
            except Error as error:
                if error.code != "E0807" or "another model" in error.message:
                    raise
                first = first or error
                warn(f"{path} is passed over: {error.message}")
        if first is not None:
            raise first
        return None


def resumed(session: Session, path: Path) -> Position:
    """Go on from a checkpoint; gives where the run stood.  Raises E0102, E0807."""
    return Position.of_notes(session.restore(path), str(path))

"""Images of devices, which are archives of ttc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ttc.runtime.loader import load_program


class TTDeviceImage:
    """A compiled device in a file, which is an archive of ttc.

    Args:   path: of the archive.
    Raises: E0102 for a file that there is not, and what reading an archive raises.
    """

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        self._program = load_program(self.path)

    @property
    def optimizer(self) -> str | None:
        """Return the optimizer that the device was compiled with; None for inference."""
        training = self._program.description.training
        if training is None or training.optimizer is None or not training.groups:
            return None
        numbers = {name: training.hyper[taken] for name, taken in training.groups[0].inputs.items() if taken in training.hyper}
        return f"{training.optimizer.partition(':')[0]}:" + ",".join(f"{name}={value!r}" for name, value in numbers.items())

    def __fspath__(self) -> str:
        return str(self.path)

    @staticmethod
    def load_from_disk(img_path: Any) -> TTDeviceImage:
        """Return the image of a file."""
        return TTDeviceImage(img_path)

    def save_to_disk(self, img_path: Any) -> None:
        """Write the image into another file."""
        self._program.save(img_path)

    def info(self) -> None:
        """Print whether the image is for inference or training."""
        kind = "inference" if self._program.description.training is None else "training"
        print(f"{self.path}: an archive of ttc for {kind}; `ttc info` tells more")

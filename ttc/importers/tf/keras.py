"""Keras 3 files: checked here, then loaded and traced by TensorFlow in a child process with limits, which gives back a plain graph.

TensorFlow sees a copy that holds the checked members alone.  The child may take bounded memory and time, and may start no process and
open no connection; should TensorFlow abort, that is one error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import ModuleOp
from ttc.dialects.core.plain.weights import WeightStore
from ttc.importers.base import NO_SHAPES, NO_VALUES
from ttc.importers.common.module import naming
from ttc.importers.common.zipped import Zipped, open_zipped
from ttc.importers.tf import mapped
from ttc.importers.tf.config import MAX_BYTES, checked_config
from ttc.importers.tf.traced import FAILURE, read_traced
from ttc.importers.tf.values import Model
from ttc.runtime.temporary import temporary_folder

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
MAX_INFLATED_BYTES = 2 << 30
"""The most bytes of weights that the zip holds compressed."""
SECONDS = 900
"""The seconds of processor time, and of the clock, that the child may take."""
SPARE_BYTES, THREAD_BYTES = 4 << 30, 160 << 20
"""The address space that TensorFlow takes beside a few copies of the weights, and for each processor: most of it is never touched."""
MAX_TEXT = 1 << 16
"""The most bytes of the child's output that are looked at."""


def import_keras(
    path: Path, *, shapes: Mapping[str, tuple[int, ...]] = NO_SHAPES, batch: int | None = None, values: Mapping[str, Any] = NO_VALUES
) -> tuple[ModuleOp, WeightStore]:
    """Import a `.keras` file: a module with the entry function `forward`, and its weights.

    Args:
        path: of the file.
        shapes: full shapes by input name, for inputs with dynamic dimensions.
        batch: the size of dynamic batch dimensions.
        values: arrays by name of integer or boolean inputs, which are taken where an op needs to know the value of an operand.
    Raises: E0102, E0104 (no TensorFlow), E0201 to E0206, and E04xx where a node's operands do not fit; all name the file.
    """
    with naming(path.name):
        return mapped(_traced(path), path.stem, shapes, batch, values)


def _traced(path: Path) -> Model:
    """Return the model as TensorFlow traces it."""
    archive = open_zipped(path, "a Keras file")
    config = checked_config(archive.read(CONFIG, MAX_BYTES)) if CONFIG in archive.members else None
    if config is None or WEIGHTS not in archive.members:
        raise Error("E0201", f"not a Keras file: it has no {WEIGHTS if config else CONFIG}")
    others = [name for name in archive.members if name not in (CONFIG, METADATA, WEIGHTS) and not name.endswith("/")]
    if others:
        raise Error("E0202", f"the file holds '{others[0]}': vocabularies and other assets are not supported")
    if find_spec("tensorflow") is None or find_spec("keras") is None:
        raise Error("E0104", "Keras files are read with TensorFlow, which is not installed", hint="pip install 'ttc[tf]'")
    with temporary_folder("ttc-keras-") as folder:
        size = _copy(archive, config, folder / "model.keras")
        _run_child(folder, size)
        return read_traced(folder)


def _copy(archive: Zipped, config: bytes, path: Path) -> int:
    """Write what Keras reads, checked; gives the bytes of the weights.  It does not read the metadata."""
    stored = archive.members[WEIGHTS].compress_type == zipfile.ZIP_STORED
    weights = archive.view(WEIGHTS) if stored else archive.read(WEIGHTS, MAX_INFLATED_BYTES)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as copy:
        copy.writestr(CONFIG, config)
        with copy.open(WEIGHTS, "w", force_zip64=True) as member:
            member.write(weights)
    return len(weights)


def _run_child(folder: Path, size: int) -> None:
    """Run the child on the copy.  Raises what it reports, and E0201 if it does not end well."""
    environment = environment_of(folder, size)
    command = [sys.executable, "-m", "ttc.importers.tf.child", str(folder)]
    with (folder / "output.txt").open("wb") as output:
        child = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder, start_new_session=True
        )
        try:
            status = child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise Error("E0201", f"TensorFlow took more than {SECONDS} s to load the model") from None
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    check_ended(folder, status)


def environment_of(folder: Path, size: int) -> dict[str, str]:
    """Return the environment of the child: where it may write, and its limits.  size: bytes of the weights."""
    return {
        **{name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LD_LIBRARY_PATH", "TZ", "VIRTUAL_ENV")},
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "HOME": str(folder),
        "KERAS_HOME": str(folder),
        "TMPDIR": str(folder),
        "KERAS_BACKEND": "tensorflow",
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TTC_CHILD_BYTES": str(SPARE_BYTES + THREAD_BYTES * (os.cpu_count() or 1) + 8 * size),
        "TTC_CHILD_SECONDS": str(SECONDS),
        "TTC_CHILD_OF": str(os.getpid()),
    }


def check_ended(folder: Path, status: int) -> None:
    """Raises the error that the child reported in the folder, or E0201 if it ended with another exit status than 0."""
    failure = folder / FAILURE
    if failure.is_file():
        _report(failure)
    if status != 0:
        raise Error("E0201", f"TensorFlow could not load the model: its process {_ending(status)}", excerpt=_last_lines(folder))


def _report(failure: Path) -> None:
    """Raise the error that the child wrote down."""
    with failure.open("rb") as file:
        found = json.loads(file.read(MAX_TEXT))
    raise Error(str(found["code"]), str(found["message"]), hint=found.get("hint"))


def _ending(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _last_lines(folder: Path) -> str | None:
    """Return the last lines that the child printed."""
    with (folder / "output.txt").open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - MAX_TEXT))
        lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return "\n".join(line[:200] for line in lines[-3:]) or None

"""The child process in which TensorFlow loads and traces a Keras file.

    python -m ttc.importers.tf.child FOLDER

FOLDER holds `model.keras`, whose config was checked; its weights are checked here.  Written there are the graph, the weights and their
description (traced), or `failure.json`.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import zipfile
from pathlib import Path
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.importers.tf.traced import FAILURE, write_traced

BARRED = (
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "os.fork", "os.forkpty", "pty.spawn", "subprocess.Popen"),
    *("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "urllib.Request", "ftplib.connect", "http.client.connect"),
    *("webbrowser.open", "ctypes.dlopen", "pickle.find_class"),
)
"""Audit events of Python that loading a model never needs."""
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(folder: Path) -> int:
    """Trace a model.  Returns the exit status: 0 if it was traced, else 1, with the reason in the folder."""
    _end_with_parent()
    _limit()
    try:
        _trace(folder)
    except Error as error:
        _fail(folder, error)
        return 1
    except MemoryError:
        _fail(folder, Error("E0201", "Keras needs more memory to load the model than its file accounts for"))
        return 1
    except Exception as error:  # noqa: BLE001 - whatever Keras raises says that it cannot load the file
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = f"{type(error).__name__}: {' '.join(lines)[:600]}"
        _fail(folder, Error("E0201", f"Keras cannot load the model: {reason}"))
        return 1
    return 0


def _end_with_parent() -> None:
    """End with the program that waits for this one, however that ends: the system sends SIGKILL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(os.environ["TTC_CHILD_OF"]):  # it ended before
        os._exit(1)


def _limit() -> None:
    """Memory, processor time, and no core dumps."""
    size, seconds = int(os.environ["TTC_CHILD_BYTES"]), int(os.environ["TTC_CHILD_SECONDS"])
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _trace(folder: Path) -> None:
    from ttc.importers.tf.weights_file import check_weights

    path = folder / "model.keras"
    with zipfile.ZipFile(path) as archive, archive.open("model.weights.h5") as file:
        check_weights(file)
    import keras
    import tensorflow as tf

    from ttc.importers.tf.live import trace

    tf.config.set_visible_devices([], "GPU")
    sys.addaudithook(_bar)
    model: Any = keras.saving.load_model(path, compile=False, safe_mode=True)
    write_traced(*trace(model), folder)


def _bar(event: str, _: tuple[Any, ...]) -> None:
    if event in BARRED:
        raise Error("E0202", f"the model would do '{event}' when it is loaded, which is not allowed")


def _fail(folder: Path, error: Error) -> None:
    (folder / FAILURE).write_text(json.dumps({"code": error.code, "message": error.message, "hint": error.hint}))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""Runs for `tools/fuzz.py` what frameworks do with a file: TensorFlow in forked processes, PyTorch once for programs that are the same."""

from __future__ import annotations

import copy
import io
import os
import resource
import signal
import time
import zipfile
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import checkout  # noqa: F401 - finds ttc where it is not installed
from fuzz_formats import Files, compile_to_nn
from ttc.dialects.core.errors import Error

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

CHILD_SECONDS = 10
"""The seconds of processor time for what TensorFlow's process does with a Keras file."""
MAX_KEPT = 100
"""The most programs of PyTorch, and models of Keras, that are remembered: the valid ones, which most damage leaves as they are, and some
more.
"""
_OVERTIME = (-signal.SIGXCPU, -signal.SIGKILL)
_ESCAPED = 70
"""Exit status of a process whose function raises what it should not."""


# ---- Keras --------------------------------------------------------------------------------------------------------------


def read_keras(path: Path) -> None:
    """Read a Keras file without TensorFlow's part: what our own checks let through counts as read."""
    from ttc.importers.base import import_model
    from ttc.importers.tf import keras

    keras._run_child = _check_keras_weights
    try:
        import_model(path)
    except _Passed:
        pass


def trace_keras(path: Path) -> None:
    """Read a Keras file, TensorFlow's part in forked processes, as loading TensorFlow for each would take most of the time."""
    import keras as loaded  # noqa: F401
    import tensorflow  # noqa: F401

    from ttc.importers.base import import_model
    from ttc.importers.tf import keras

    keras._run_child = _trace_forked
    import_model(path)


def _trace_forked(folder: Path, size: int) -> None:
    """As the child process does, in a copy of this one; nothing for what such a copy was given before."""
    from ttc.importers.tf import keras

    with zipfile.ZipFile(folder / "model.keras") as archive:
        given = tuple(archive.read(name) for name in (keras.CONFIG, keras.WEIGHTS))
    if given not in _traces:
        status = _fork(folder, size)
        _traces[given] = status, {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and p.name != "model.keras"}
    status, written = _traces[given] = _traces.pop(given)
    if len(_traces) > MAX_KEPT:
        _traces.pop(next(iter(_traces)))
    for name, data in written.items():
        (folder / name).write_bytes(data)
    keras.check_ended(folder, status)


_traces: dict[tuple[bytes, ...], tuple[int, Files]] = {}
"""Exit status and files of a process, by config and weights that it was given; those used last stand last."""


def _fork(folder: Path, size: int) -> int:
    """Exit status of the process that traces a model."""
    from ttc.importers.tf import child, keras

    pid = os.fork()
    if pid == 0:
        try:
            os.environ.update(keras.environment_of(folder, size), TTC_CHILD_SECONDS=str(CHILD_SECONDS), TTC_CHILD_OF=str(os.getppid()))
            limits = int(os.environ["TTC_CHILD_BYTES"]), resource.getrlimit(resource.RLIMIT_AS)[1]
            os.environ["TTC_CHILD_BYTES"] = str(min(limit for limit in limits if limit != resource.RLIM_INFINITY))
            with (folder / "output.txt").open("wb") as output:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
            os._exit(child.main(folder))
        except BaseException as error:  # noqa: BLE001 - told by the parent
            (folder / "escaped.txt").write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(_ESCAPED)
    end = time.monotonic() + 6 * CHILD_SECONDS
    found, status = os.waitpid(pid, os.WNOHANG)
    while not found and time.monotonic() < end:
        time.sleep(0.01)
        found, status = os.waitpid(pid, os.WNOHANG)
    if not found:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise TimeoutError(f"TensorFlow took more than {6 * CHILD_SECONDS} s of the clock")
    code = os.waitstatus_to_exitcode(status)
    if code in _OVERTIME:
        raise TimeoutError(f"TensorFlow took more than {CHILD_SECONDS} s")
    if code == _ESCAPED:
        raise ChildProcessError((folder / "escaped.txt").read_text())
    return code


class _Passed(Exception):
    """A Keras file passed the checks before TensorFlow."""


def _check_keras_weights(folder: Path, _: int) -> None:
    from ttc.importers.tf import keras

    with zipfile.ZipFile(folder / "model.keras") as archive:
        weights = archive.read(keras.WEIGHTS)
    if not _passes(weights):
        raise Error("E0201", "the weights are refused")
    raise _Passed


@lru_cache(MAX_KEPT)
def _passes(weights: bytes) -> bool:
    """What the child process does before it loads TensorFlow, in a process of its own, too: the library of HDF5 may die of its file."""
    from ttc.importers.tf.weights_file import check_weights

    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (CHILD_SECONDS, CHILD_SECONDS))
            check_weights(io.BytesIO(weights))
            os._exit(0)
        except Error:
            os._exit(1)
        finally:
            os._exit(2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status in _OVERTIME:
        raise TimeoutError(f"checking the weights took more than {CHILD_SECONDS} s")
    return status == 0


# ---- PyTorch ----------------------------------------------------------------------------------------------------------------------


def compile_pt2(path: Path) -> None:
    """Compile as `ttc compile --to nn` does; what PyTorch makes of a program is remembered, for files that differ in weights alone."""
    _remember_programs()
    compile_to_nn(path)


@cache
def _remember_programs() -> None:
    """Set what deserializes programs and takes them apart to what looks first whether it has done so.

    PyTorch does both with sizes and dtypes alone: a program is known by its record, all of its constants, and of its weights what they
    are but not what they hold.
    """
    from ttc.importers.torch import exported, pt2

    deserializer, decomposed = pt2.ExportedProgramDeserializer, exported.decomposed
    programs: dict[str, ExportedProgram] = {}
    apart: dict[int, ExportedProgram] = {}

    class Remembering:
        def deserialize(self, record: Any, weights: dict[str, Any], constants: dict[str, Any], examples: None) -> ExportedProgram:
            key = repr((record, _described(weights), _described(constants), [_bytes(x) for x in constants.values()]))
            if key not in programs:
                found = deserializer().deserialize(record, weights, constants, examples)
                if len(programs) < MAX_KEPT:
                    programs[key] = found
                return found
            return _with(programs[key], weights, constants)

    def taken_apart(program: ExportedProgram) -> ExportedProgram:
        found = apart.get(id(program.graph_module))
        if found is None:
            found = decomposed(program)
            if any(p.graph_module is program.graph_module for p in programs.values()):
                apart[id(program.graph_module)] = found
        return _with(found, program.state_dict, program.constants)

    pt2.ExportedProgramDeserializer = Remembering
    exported.decomposed = taken_apart


def _described(tensors: dict[str, torch.Tensor]) -> list[tuple[Any, ...]]:
    """Return what tensors are, and which share memory."""
    places = [x.untyped_storage().data_ptr() for x in tensors.values()]
    return [
        (name, type(x), x.dtype, x.shape, x.stride(), x.storage_offset(), x.requires_grad, places.index(place))
        for (name, x), place in zip(tensors.items(), places, strict=True)
    ]


def _bytes(x: torch.Tensor) -> bytes:
    import torch

    return x.detach().reshape(-1).view(torch.uint8).numpy().tobytes()


def _with(program: ExportedProgram, weights: dict[str, Any], constants: dict[str, Any]) -> ExportedProgram:
    found = copy.copy(program)
    found._state_dict = weights
    found._constants = {**program.constants, **constants}
    return found

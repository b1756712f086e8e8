"""What a crash of a pass leaves behind: a folder from which it can be run again.

`ttc-crash-<hash>/` holds `input.mlir`, the IR before the pass, with weights as shapes and a seed; `crash.json`, the pass, the machine and
the error; `command.txt`, `versions.txt` and `traceback.txt`; and with `--with-weights` the values in `weights.npz`.
"""

from __future__ import annotations

import json
import platform
import re
import traceback
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ttc import __version__
from ttc.compiler.driver import Compilation, compile_path
from ttc.compiler.source import named_weights, read_text
from ttc.debug.opt import TextJob, optimized
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import set_module_attr
from ttc.dialects.core.records import record
from ttc.inputs.files import npz_of, require_input, write_bytes
from ttc.instruments.crash_watch import CrashWatch
from ttc.options import STAGES, CompileOptions
from ttc.passes.pipeline_text import pass_text

INPUT, EARLIER, CRASH, WEIGHTS = "input.mlir", "tile.mlir", "crash.json", "weights.npz"
PACKAGES = ("xdsl", "numpy", "ml_dtypes", "onnx", "torch", "tensorflow-cpu")
SEED = 0
MAX_TEXT = 4000
"""The most characters of an error that are kept."""


@record
class ErrorSignature:
    """What tells one error from another: its type or code, and its message without numbers."""

    kind: str
    message: str

    @staticmethod
    def of(error: BaseException) -> ErrorSignature:
        """Return the signature of an error, without the figures in its message, as they change with sizes."""
        kind = error.code if isinstance(error, Error) else type(error).__name__
        text = error.message if isinstance(error, Error) else str(error)
        return ErrorSignature(kind, re.sub(r"\d+", "#", text[:MAX_TEXT]))


@record
class Crash:
    """A crash that can be run again.

    Args:
        text: IR before the pass, which records the machine and the options.
        passes: the pass with its options.
        signature: of the error.
        weights: a file with the weights' values; None: they are random.
        earlier: the same crash from the IR at the end of stage tile, whose ops can be taken away one by one, as those of a netlist
            cannot.
    """

    text: str
    passes: str
    signature: ErrorSignature
    weights: Path | None = None
    earlier: Crash | None = None

    @property
    def reducible(self) -> Crash:
        """The crash whose IR can be made smaller."""
        return self.earlier or self

    def error(self, text: str | None = None) -> Exception | None:
        """Return what running the pass raises now.  text: other IR than the one kept."""
        try:
            optimized(self.text if text is None else text, INPUT, TextJob(self.passes, CompileOptions(), self.weights), ())
        except Exception as error:  # whatever a broken pass raises
            return error
        return None


# ---- writing --------------------------------------------------------------------------------------------------------------------


def write_crash(
    parent: Path, path: Path, options: CompileOptions, watch: CrashWatch, command: Sequence[str], *, with_weights: bool
) -> Path | None:
    """Write the folder of a crash into `parent`; None if the IR before the pass cannot be had.

    The IR comes from compiling again, up to the pass before: nothing is copied as long as nothing fails.
    Raises: E0103.
    """
    if watch.failure is None:
        return None
    pass_, stage, number, error = watch.failure
    before = _before(path, options, stage, number)
    if before is None:
        return None
    crash = Crash(_text(before, with_weights), pass_text(pass_), ErrorSignature.of(error))
    if stage == "netlist" and (tile := _before(path, options, stage, 1)) is not None:
        crash = replace(crash, earlier=Crash(_text(tile, with_weights), ",".join(watch.passes), crash.signature))
    module, text = before.unit.module, crash.text
    folder = parent / f"ttc-crash-{sha256(f'{crash.passes}{text}{crash.signature}'.encode()).hexdigest()[:12]}"
    save(crash, folder)
    write_bytes(folder / "command.txt", (" ".join(command) + "\n").encode())
    write_bytes(folder / "versions.txt", versions().encode())
    write_bytes(folder / "traceback.txt", "".join(traceback.format_exception(error)).encode())
    if with_weights:
        write_bytes(folder / WEIGHTS, npz_of({key: before.unit.weights[key].value() for key in named_weights(module)}))
    return folder


def _text(result: Compilation, with_weights: bool) -> str:
    if not with_weights:
        set_module_attr(result.unit.module, "seed", SEED)
    return print_op(result.unit.module) + "\n"


def save(crash: Crash, folder: Path) -> None:
    """Write what reproduces a crash, its weights too if it has a file of them.  Raises E0103."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise Error("E0103", f"cannot make folder {folder}: {error.strerror}") from None
    described: dict[str, Any] = {"passes": crash.passes, "error": asdict(crash.signature)}
    write_bytes(folder / INPUT, crash.text.encode())
    if crash.earlier is not None:
        described["earlier"] = {"passes": crash.earlier.passes}
        write_bytes(folder / EARLIER, crash.earlier.text.encode())
    write_bytes(folder / CRASH, (json.dumps(described, indent=1) + "\n").encode())
    if crash.weights is not None:
        write_bytes(folder / WEIGHTS, crash.weights.read_bytes())


def _before(path: Path, options: CompileOptions, stage: str, number: int) -> Compilation | None:
    """Return the module before a pass of a stage, compiled again; None if that fails, too."""
    stop = f"{stage}:{number - 1}" if number > 1 else STAGES[STAGES.index(stage) - 1]
    try:
        return compile_path(path, replace(options, to=stop))
    except Exception:  # then there is nothing to leave behind
        return None


def versions() -> str:
    """Return lines `name version` of ttc, Python, the machine, and the packages that are installed."""
    lines = [f"ttc {__version__}", f"python {platform.python_version()}", f"machine {platform.machine()}"]
    for name in PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return "\n".join(lines) + "\n"


# ---- reading --------------------------------------------------------------------------------------------------------------------


def read_crash(folder: Path) -> Crash:
    """Return the crash of a folder.  Raises E0102 for one that is missing, E0301 for one that is no crash's."""
    if not folder.is_dir():
        raise Error("E0102", f"there is no folder '{folder}'")
    text = read_text(require_input(folder / INPUT))
    try:
        described = json.loads(read_text(require_input(folder / CRASH)))
        passes, error = described["passes"], described["error"]
        signature = ErrorSignature(error["kind"], error["message"])
        steps = described["earlier"]["passes"] if "earlier" in described else ""
        if not all(isinstance(x, str) for x in (passes, steps, signature.kind, signature.message)):
            raise TypeError("its fields are texts")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Error("E0301", f"{CRASH} does not describe a crash: {error}", where=str(folder)) from None
    weights = folder / WEIGHTS if (folder / WEIGHTS).is_file() else None
    earlier = Crash(read_text(require_input(folder / EARLIER)), steps, signature, weights) if steps else None
    return Crash(text, passes, signature, weights, earlier)

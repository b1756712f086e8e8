"""The formats of files for `tools/fuzz.py`: how ttc reads each, and how members become a file."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from math import prod
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import checkout  # noqa: F401 - finds ttc where it is not installed
from ttc.dialects.core.errors import Error

Files: TypeAlias = "dict[str, bytes]"
"""Contents of files by path in a folder; of a format that packs, members by name."""
MAX_ELEMENTS = 1 << 16
"""The most elements of an input of a program that is run."""
_NUMBERS = ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


@dataclass(frozen=True)
class Format:
    """A format of files that ttc reads.

    Args:
        name: for options and reports.
        path: of the file in its folder; the folder itself if it is empty.
        seeds: valid inputs; the folder may be written to.
        run: reads the file as a command of ttc does.
        pack: makes one file of members.
        needs: packages.
        slow: whether it is run only where it is named.
    """

    name: str
    path: str
    seeds: Callable[[Path], list[Files]]
    run: Callable[[Path], None]
    pack: Callable[[Files, Random], bytes] | None = None
    needs: tuple[str, ...] = ()
    slow: bool = False

    def missing(self) -> str | None:
        """Return a package that it needs and that is not installed."""
        return next((name for name in self.needs if find_spec(name) is None), None)


# ---- how they are read ------------------------------------------------------------------------------------------------------------


def compile_to_nn(path: Path) -> None:
    """Compile as `ttc compile --to nn` does, with open batch dimensions set."""
    from ttc.compiler.driver import compile_path
    from ttc.importers.common.inputs import OpenDimensions
    from ttc.options import CompileOptions, resolve

    options = {"to": "nn", "target": "host"}
    try:
        compile_path(path, resolve(CompileOptions, options))
    except OpenDimensions:
        compile_path(path, resolve(CompileOptions, {**options, "batch": 1}))


def sum_up(path: Path) -> None:
    """Read traces as `ttc trace merge` and `ttc trace summary` do, without writing."""
    from ttc.profiler.merging import merge
    from ttc.profiler.reading import read_trace
    from ttc.profiler.summary import summary_of

    str(summary_of(read_trace(path)))
    merge([path, path])


def resume(path: Path) -> None:
    """Compile IR text from the stage that it says it is at to the next one, or read it only if there is none."""
    from ttc.compiler.driver import compile_source
    from ttc.compiler.source import open_source
    from ttc.options import STAGES, CompileOptions, resolve

    source = open_source(path, CompileOptions())
    following = STAGES[min(STAGES.index(source.stage) + 1, STAGES.index("netlist"))]
    compile_source(source, resolve(CompileOptions, {"to": following}))


def open_program(path: Path) -> None:
    """Run as `ttc run` does, on zeros, where there are not too many: both engines end alike."""
    import ttc

    with ttc.load(path, threads=1, engine="reference") as reference, ttc.load(path, threads=1, engine="native") as native:
        for name, program in reference.netlist.programs.items():
            inputs = [a for a in program.arguments if a.kind == "input"]
            if any(min(a.shape, default=0) < 0 or prod(a.shape) > MAX_ELEMENTS or a.dtype not in _NUMBERS for a in inputs):
                continue
            given = {a.name: np.zeros(a.shape, a.dtype) for a in inputs}
            expected, found = (_ended(partial(executor.run, given, name)) for executor in (reference, native))
            if not _alike(found, expected):
                raise AssertionError(f"the native engine ends with {str(found)[:200]}, the reference engine with {str(expected)[:200]}")


def _ended(run: Callable[[], dict[str, NDArray]]) -> dict[str, NDArray] | str:
    try:
        return run()
    except Error as error:
        return error.code


def _alike(a: dict[str, NDArray] | str, b: dict[str, NDArray] | str) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    numbers = [(a[n], b[n]) for n in b if b[n].dtype.kind == "f"]
    return list(a) == list(b) and all(x.shape == y.shape and np.allclose(x, y, 1e-2, 1e-2, equal_nan=True) for x, y in numbers)


def read_buda(path: Path) -> None:
    """Read a netlist as `ttc netlist check` and `ttc netlist fmt` do."""
    from ttc.dialects.netlist.buda.reader import read_form
    from ttc.dialects.netlist.buda.rules.check import check_form
    from ttc.exporters.buda_round_trip import formatted

    form, found = read_form(path)
    found = found + check_form(form, None, found)
    if found:
        raise Error(found[0].code, found[0].message)
    formatted(form)


def read_target(path: Path) -> None:
    from ttc.dialects.core.machines.targets import load_target

    load_target(str(path))


def read_options(path: Path) -> None:
    """Read options as every command with `--config` does."""
    from ttc.inputs.files import read_config
    from ttc.options import KINDS, resolve

    config = read_config(path)
    for kind in KINDS:
        resolve(kind, {}, {}, config)


# ---- containers -------------------------------------------------------------------------------------------------------------------


def zipped(members: Files, rng: Random) -> bytes:
    """Return a zip of members, stored as the frameworks store them, or now and then compressed."""
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.1 else zipfile.ZIP_STORED
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def sealed(members: Files, _: Random) -> bytes:
    """Return an archive of members whose sums are right, so that what they hold is looked at."""
    from ttc.runtime.zip_writer import ZipWriter

    manifest = _with_sums(members)
    descriptor = os.memfd_create("archive")
    try:
        with ThreadPoolExecutor(1) as pool:
            writer = ZipWriter(descriptor, pool)
            for name, data in {**members, "manifest.json": manifest}.items():
                writer.add(name, len(data), [memoryview(data)])
            writer.finish(lambda directory: f"ttc archive sha256 {hashlib.sha256(manifest + directory).hexdigest()}".encode())
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    finally:
        os.close(descriptor)


def _with_sums(members: Files) -> bytes:
    """Return the manifest with sizes and sums of the other members, as far as it can be read."""
    text = members.pop("manifest.json", b"")
    try:
        manifest: Any = json.loads(text)
        for name, data in members.items():
            manifest["members"][name].update(size=len(data), sha256=hashlib.sha256(data).hexdigest())
        return json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return text


def unzipped(data: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {item.filename: archive.read(item) for item in archive.infolist()}

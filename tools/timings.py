"""Timings of single ops on silicon: CSV files of two layouts, as works of one core and cycles for one input.

Small tables have `t, mblock_m, mblock_n, ublock_rt, ublock_ct, [m_k, u_kt], [z], [nz_*], runtime`, where runtime is of one input; wide
sweeps have `input0_*, input1_*, output_*` and `total-runtime` of the inputs from `first-input-idx-recorded` to `last-...`.  What op a row
is of is said by a column, or by the name of the file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.machines.targets import arch_names
from ttc.runtime.perf.base import PHASES
from ttc.runtime.perf.functions import ENGINE
from ttc.runtime.perf.work import CoreWork

MAX_FILES, MAX_FILE_BYTES, MAX_SIZE, MAX_CYCLES = 10_000, 64 << 20, 1 << 20, 1e15
"""Bounds on what is read: files of a folder, bytes of a file, any number in a row, cycles."""

CLASSES = {"matmul": "matmul", "sparse_matmul": "sparse"}
"""Classes of ops that are held to bars of their own; all others are `elementwise`. A depthwise product runs tile by tile, like these."""

ALIASES = {
    **dict.fromkeys(("datacopy", "ethernet_datacopy", "tilizer", "embedding"), "nop"),  # as the maker's own model has them
    "sub": "subtract",
    "mul": "multiply",
    "max": "maximum",
    "leaky_relu": "lrelu",
    "sin": "sine",
    "cos": "cosine",
    "pow": "power",
    "quant": "quantization",
    "dequant": "dequantization",
    "requant": "requantization",
}
TWO_OPERANDS = frozenset("add subtract multiply maximum quantization dequantization requantization".split())
WORDS = frozenset("approx bfp8 bfp fp16 fp32 int8 int32 l1 acc r c z rc vector op performance whb0 gs wh".split())
"""Words of file names that are no part of an op's name."""


class Unscored(ValueError):
    """Raised with why a file or a row is not of this form, or of no known op."""


@dataclass(frozen=True)
class Timing:
    """One timing: work of one core and its measured cycles for one input; `file` relative to the folder, `line` from 1."""

    arch: str
    file: str
    line: int
    work: CoreWork
    cycles: float

    @property
    def kind(self) -> str:
        """The class of the op: `matmul`, `elementwise` or `sparse`."""
        return CLASSES.get(self.work.op, "elementwise")


@dataclass
class Timings:
    """The timings of a folder: rows; by file, reasons for which rows are not scored with their number; and rows that say nothing."""

    rows: list[Timing] = field(default_factory=list)
    unscored: dict[str, dict[str, int]] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)


def read_timings(folder: Path) -> Timings:
    """Return all CSV files of a folder, recursively, in order of their names.  Raises OSError, UnicodeDecodeError, csv.Error."""
    found = Timings()
    files = sorted(p for p in folder.rglob("*.csv") if p.is_file())
    if len(files) > MAX_FILES:
        raise OSError(f"{folder} holds {len(files):,} files; at most {MAX_FILES:,} are read")
    for path in files:
        name = path.relative_to(folder).as_posix()
        if path.stat().st_size > MAX_FILE_BYTES:
            raise OSError(f"{path} is larger than {MAX_FILE_BYTES:,} bytes")
        _read_file(path, name, arch_of((folder.resolve() / name).parent), found)
    return found


def arch_of(folder: Path) -> str | None:
    """Return the architecture that a folder, or the nearest of those around it, is named after."""
    for part in reversed(folder.parts):
        for arch in sorted(arch_names(), key=len, reverse=True):
            if arch in part.lower():
                return arch
    return None


def _read_file(path: Path, name: str, arch: str | None, found: Timings) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        header = set(reader.fieldnames or ())
        if not header & {"runtime", "total-runtime"}:
            found.unscored[name] = {"it has no column of run times": sum(1 for _ in reader)}
            return
        for row in reader:
            values = {k.strip().lower(): v.strip() for k, v in row.items() if isinstance(k, str) and isinstance(v, str)}
            try:
                found.rows.append(_timing(values, name, reader.line_num, arch))
            except Unscored as reason:
                reasons = found.unscored.setdefault(name, {})
                reasons[str(reason)] = reasons.get(str(reason), 0) + 1
            except ValueError as problem:
                found.bad.append(f"{name}:{reader.line_num}: {problem}")


def _timing(row: Mapping[str, str], name: str, line: int, folder_arch: str | None) -> Timing:
    arch = next((row[c].lower() for c in ("arch", "architecture", "device") if row.get(c)), folder_arch)
    if arch not in arch_names():
        raise Unscored("neither a column nor a folder names a known architecture")
    words = re.split(r"[^a-z0-9]+", Path(name).stem.lower())
    op = _op_of(row, words)
    work = _product(op, row, words) if op in ("matmul", "sparse_matmul", "depthwise") else _stream(op, row, words)
    return Timing(arch, name, line, work, _cycles(row))


def _op_of(row: Mapping[str, str], words: list[str]) -> str:
    """Raises Unscored for an op that the model has no rule of."""
    said = next(((k, v) for k, v in row.items() if v and (k in ("op", "type") or k.endswith(("-type", "_type")))), ("", ""))
    given = "reduce" if said[0].startswith("reduce") else said[1]
    op = given.lower().replace("-", "_") or "_".join(w for w in words if w not in WORDS)
    op = ALIASES.get(op, op)
    if "matmul" in op:
        op = "sparse_matmul" if "sparse" in words or "nz_tiles" in row else "matmul"
    if op not in ENGINE and op not in ("matmul", "sparse_matmul", "depthwise", "reduce"):
        raise Unscored(f"the model has no rule for an op '{op[:40]}'")
    return op


def _product(op: str, row: Mapping[str, str], words: list[str]) -> CoreWork:
    mblock, ublock = _blocks(row, "output")
    inner = (_number(row, "m_k", "mblock_k"), _number(row, "u_kt", "ublock_kt", default=1))
    sparse = tuple(_number(row, f"nz_{part}") for part in ("strips", "ublocks", "tiles")) if op == "sparse_matmul" else None
    left = _format(row, "input0_df")
    right = _format(row, "input1_df", default=left)
    output = _format(row, "output_df", default="Int32" if right == "Int8" else right)
    return CoreWork(
        op,
        (left, right),
        output,
        _number(row, "t", "output_t", default=1),
        mblock,
        ublock,
        inner,
        _fidelity(row),
        _format(row, "intermed_df", default="Int32" if right == "Int8" else right),
        l1_acc=_truth(row.get("l1_acc", "")) or {"l1", "acc"} <= set(words),
        sparse=sparse,  # pyright: ignore[reportArgumentType]
    )


def _stream(op: str, row: Mapping[str, str], words: list[str]) -> CoreWork:
    first = _format(row, "input0_df", "input0")
    inputs = (first, _format(row, "input1_df", default=first)) if op in TWO_OPERANDS else (first,)
    dim = row.get("dim") or row.get("reduce_dim") or next((w for w in reversed(words) if w in ("r", "c", "z")), "r")
    vector = (row.get("vector-mode") or row.get("vector_mode") or row.get("vector") or _after("vector", words) or "rc").lower()
    if vector not in ("r", "c", "rc") or dim not in ("r", "c", "z"):
        raise ValueError(f"vector mode '{vector}', dimension '{dim}'")
    mblock, ublock = _blocks(row, "input0" if op == "reduce" and dim != "z" else "output")
    return CoreWork(
        op,
        inputs,
        _format(row, "output_df", default=first),
        _number(row, "t", "output_t", "input0_t", default=1),
        mblock,
        ublock,
        fidelity=_fidelity(row),
        z=_number(row, "z", default=1),
        vector=vector,
        dim=dim,
        approximate="approx" in words or any(_truth(v) for k, v in row.items() if k.startswith("approx")),
    )


def _after(word: str, words: list[str]) -> str | None:
    at = words.index(word) + 1 if word in words else len(words)
    return words[at] if at < len(words) else None


def _blocks(row: Mapping[str, str], side: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """mblock and ublock, of the result where a row has both sides."""
    sizes = [
        _number(row, *names)
        for names in (
            ("mblock_m", f"{side}_mb_r", "input0_mb_r"),
            ("mblock_n", f"{side}_mb_c", "input0_mb_c"),
            ("ublock_rt", f"{side}_ub_r", "input0_ub_r"),
            ("ublock_ct", f"{side}_ub_c", "input0_ub_c"),
        )
    ]
    return (sizes[0], sizes[1]), (sizes[2], sizes[3])


def _number(row: Mapping[str, str], *names: str, default: int | None = None) -> int:
    text = next((row[name] for name in names if row.get(name)), None)
    if text is None:
        if default is None:
            raise ValueError(f"no '{names[0]}'")
        return default
    number = int(text) if len(text) < 16 else MAX_SIZE + 1
    if not 0 < number <= MAX_SIZE:
        raise ValueError(f"'{names[0]}' is {text[:20]}")
    return number


def _cycles(row: Mapping[str, str]) -> float:
    inputs = 1
    if row.get("total-runtime"):
        inputs = int(row.get("last-input-idx-recorded") or 127) - int(row.get("first-input-idx-recorded") or 0) + 1
    cycles = float(row.get("total-runtime") or row.get("runtime") or "nan") / max(inputs, 1)
    if inputs < 1 or not 0 < cycles < MAX_CYCLES:
        raise ValueError(f"{cycles} cycles for each of {inputs} inputs")
    return cycles


def _format(row: Mapping[str, str], *names: str, default: str | None = None) -> str:
    name = next((row[name] for name in names if row.get(name)), default) or "Bfp8_b"
    if name not in FORMATS:
        raise ValueError(f"there is no format '{name[:40]}'")
    return name


def _fidelity(row: Mapping[str, str]) -> str:
    text = row.get("math_fidelity") or "HiFi4"
    name = text.removesuffix("_A").removesuffix("_B")
    if name not in PHASES:
        raise ValueError(f"there is no fidelity '{text[:40]}'")
    return name


def _truth(text: str) -> bool:
    return text.lower() in ("1", "true", "yes")


def by_file(rows: Iterable[Timing]) -> dict[str, list[Timing]]:
    """Return rows of each file, in order."""
    groups: dict[str, list[Timing]] = {}
    for row in rows:
        groups.setdefault(row.file, []).append(row)
    return groups

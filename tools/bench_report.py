"""The results of `bench_peers.py` as tables of ratios, and the bars that they must keep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bench_engines import OURS

FLOAT32_PEERS = ("onnxruntime", "openvino", "torch-compile")
"""The engines in float32, of which the fastest is compared with ours."""
LARGE_BYTES = 10_000_000
"""The bytes from which on models are held to a ratio of memory, smaller ones to a difference."""
MEGABYTE = 1e6
ERRORS: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "largest difference from the reference": lambda figures: figures["max_abs"],
    "relative L2 error": lambda figures: figures["relative_l2"],
    "1 - PCC": lambda figures: 1 - figures["pcc"],
}
"""Tables of errors, with the engines in each."""


@dataclass(frozen=True)
class Latency:
    """The seconds of one engine with one model: the median of the turns' medians, and the fastest run of all."""

    median: float
    fastest: float
    turns: int

    @classmethod
    def of(cls, turns: Sequence[Sequence[float]]) -> Latency:
        """Return the latency from the seconds of each run, turn by turn."""
        return cls(statistics.median(map(statistics.median, turns)), min(map(min, turns)), len(turns))


@dataclass
class Found:
    """The results of one model: by engine seconds and errors; `failed`: what an engine said that gave none."""

    model: str
    model_bytes: int
    latency: dict[str, Latency] = field(default_factory=dict)
    errors: dict[str, dict[str, Any]] = field(default_factory=dict)
    load: dict[str, float] = field(default_factory=dict)
    imports: dict[str, float] = field(default_factory=dict)
    process: dict[str, float] = field(default_factory=dict)
    compile: dict[str, float] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Bar:
    """A figure that is to be at most `bar`, better `aim`; `worst` names the model that decides it, or how many were counted."""

    name: str
    value: float
    bar: float
    aim: float
    worst: str
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.bar

    @property
    def text(self) -> str:
        """The bar and its figure, in one line."""
        verdict = "met, aim met" if self.value <= self.aim else "met" if self.met else "NOT MET"
        return f"{self.name:68} {self.value:8.3g}{self.unit:3} bar {self.bar:5g}  aim {self.aim:5g}  {verdict:12}  {self.worst}"


# ---- bars -----------------------------------------------------------------------------------------------------------------------


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers; NaN of none."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def bars(found: Sequence[Found], *, fastest: bool) -> list[Bar]:
    """Return the bars that the measurements allow.  fastest: compare fastest runs, not medians."""
    return [
        bar for section in (_latency_bars(found, fastest), _fresh_bars(found), _memory_bars(found), _error_bars(found)) for bar in section
    ]


def seconds_of(item: Found, engine: str, *, fastest: bool) -> float | None:
    """Return an engine's latency, None where it has none."""
    latency = item.latency.get(engine)
    return None if latency is None else latency.fastest if fastest else latency.median


def best_peer(item: Found, *, fastest: bool) -> float | None:
    """Return the least latency of the float32 peers."""
    known = [s for name in FLOAT32_PEERS if (s := seconds_of(item, name, fastest=fastest)) is not None]
    return min(known, default=None)


def _ratios(found: Sequence[Found], upper: Callable[[Found], float | None], lower: Callable[[Found], float | None]) -> dict[str, float]:
    pairs = {item.model: (upper(item), lower(item)) for item in found}
    return {model: a / b for model, (a, b) in pairs.items() if a is not None and b}


def _mean_bar(name: str, ratios: Mapping[str, float], bar: float, aim: float) -> Iterator[Bar]:
    if ratios:
        worst = max(ratios, key=lambda model: ratios[model])
        yield Bar(f"{name}: geometric mean", geometric_mean(list(ratios.values())), bar, aim, f"worst {worst} {ratios[worst]:.3g}")


def _worst_bar(name: str, values: Mapping[str, float], bar: float, aim: float, unit: str = "") -> Iterator[Bar]:
    if values:
        worst = max(values, key=lambda model: values[model])
        yield Bar(name, values[worst], bar, aim, worst, unit)


LATENCY_BARS = {
    "float32": ((0.82, 0.75), (0.95, 0.9)),
    "high": ((0.60, 0.55), (0.8, 0.7)),
    "bfloat16": ((0.85, 0.75), (1.0, 0.9)),
}
"""By precision bar and aim of the geometric mean of ratios, and of the worst model's."""


def _latency_bars(found: Sequence[Found], fastest: bool) -> Iterator[Bar]:
    def of(engine: str) -> Callable[[Found], float | None]:
        return lambda item: seconds_of(item, engine, fastest=fastest)

    def best(item: Found) -> float | None:
        return best_peer(item, fastest=fastest)

    pairs = (("float32", "ours", best), ("high", "ours-high", best), ("bfloat16", "ours-bf16", of("openvino-bf16")))
    for precision, engine, peer in pairs:
        ratios, (mean, worst) = _ratios(found, of(engine), peer), LATENCY_BARS[precision]
        name = f"{precision}: ours / {'OpenVINO bf16' if precision == 'bfloat16' else 'fastest float32 peer'}"
        yield from _mean_bar(name, ratios, *mean)
        yield from _worst_bar(f"{name}: worst model", ratios, *worst)
    yield from _mean_bar("n150 archive at Float32 / host archive", _ratios(found, of("ours-n150"), of("ours")), 1.25, 1.05)


def _fresh_bars(found: Sequence[Found]) -> Iterator[Bar]:
    load = _ratios(found, lambda item: item.load.get("ours"), lambda item: item.load.get("onnxruntime"))
    yield from _mean_bar("load, archive to first output / onnxruntime from ONNX", load, 1.0, 0.5)
    seconds = {item.model: item.compile["ours"] for item in found if "ours" in item.compile}
    large = {model: s for model, s in seconds.items() if model in ("bert", "gpt2")}
    yield from _worst_bar("compile, whole process: bert, gpt2", large, 6, 3, " s")
    yield from _worst_bar("compile, whole process: cnn", {m: s for m, s in seconds.items() if m == "cnn"}, 0.8, 0.5, " s")


def _memory_bars(found: Sequence[Found]) -> Iterator[Bar]:
    both = [item for item in found if {"ours", "onnxruntime"} <= item.memory.keys()]
    pairs = {item.model: (item.memory["ours"], item.memory["onnxruntime"], item.model_bytes >= LARGE_BYTES) for item in both}
    ratios = {model: a / b for model, (a, b, large) in pairs.items() if large}
    more = {model: (a - b) / MEGABYTE for model, (a, b, large) in pairs.items() if not large}
    yield from _worst_bar("peak memory of ttc run / onnxruntime's, over 10 MB of weights: worst", ratios, 1.0, 0.7)
    yield from _worst_bar("peak memory of ttc run - onnxruntime's, others: worst", more, 60, 60, " MB")


def _error_bars(found: Sequence[Found]) -> Iterator[Bar]:
    def of(engine: str) -> Callable[[Found], float | None]:
        return lambda item: item.errors[engine]["max_abs"] if engine in item.errors else None

    yield from _worst_bar("float32 error, max abs: ours / onnxruntime's: worst", _ratios(found, of("ours"), of("onnxruntime")), 2.0, 1.0)


# ---- tables ---------------------------------------------------------------------------------------------------------------------


def report(found: Sequence[Found], *, fastest: bool) -> str:
    """Return all tables, and the bars."""
    how = "fastest run" if fastest else "median"
    load, starts = {f.model: f.load for f in found}, {f.model: f.imports for f in found}
    processes, memory = {f.model: f.process for f in found}, {f.model: f.memory for f in found}
    sections = [
        (f"latency, ms ({how})", {f.model: {e: 1e3 * (v.fastest if fastest else v.median) for e, v in f.latency.items()} for f in found}),
        ("latency / that of the fastest float32 peer", {f.model: _to_best(f, fastest) for f in found}),
        *((title, {f.model: {e: value(v) for e, v in f.errors.items()} for f in found}) for title, value in ERRORS.items()),
        ("load to first output in a fresh process, imports not counted, ms", _scaled(load, 1e3)),
        ("load / onnxruntime's from ONNX", _to_onnxruntime(load)),
        ("process start: imports, ms", _scaled(starts, 1e3)),
        ("process start / onnxruntime's", _to_onnxruntime(starts)),
        ("whole process: start, load, first output, end, ms", _scaled(processes, 1e3)),
        ("whole process / onnxruntime's", _to_onnxruntime(processes)),
        ("compile, whole process, s", {f.model: f.compile for f in found}),
        ("peak memory of a process that runs once, MB", _scaled(memory, 1 / MEGABYTE)),
        ("peak memory / onnxruntime's", _to_onnxruntime(memory)),
    ]
    lines = [line for title, rows in sections for line in _table(title, rows)]
    lines += [f"{f.model}: {engine} failed: {why}" for f in found for engine, why in f.failed.items()]
    return "\n".join([*lines, "what it must show", *(bar.text for bar in bars(found, fastest=fastest))])


def _to_best(item: Found, fastest: bool) -> dict[str, float]:
    best = best_peer(item, fastest=fastest)
    return {engine: s / best for engine in item.latency if best and (s := seconds_of(item, engine, fastest=fastest)) is not None}


def _scaled(rows: Mapping[str, Mapping[str, float]], scale: float) -> dict[str, dict[str, float]]:
    return {model: {engine: value * scale for engine, value in row.items()} for model, row in rows.items()}


def _to_onnxruntime(rows: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    known = {model: row for model, row in rows.items() if row.get("onnxruntime")}
    return {model: {engine: value / row["onnxruntime"] for engine, value in row.items()} for model, row in known.items()}


def _table(title: str, rows: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Models down, engines across, and a line of geometric means where all are ratios."""
    engines = list(dict.fromkeys(engine for row in rows.values() for engine in row))
    if not engines:
        return []
    cells = {model: [f"{row[e]:.4g}" if e in row else "-" for e in engines] for model, row in rows.items()}
    if " / " in title:
        columns = [[row[e] for row in rows.values() if e in row] for e in engines]
        cells["geometric mean"] = [f"{geometric_mean(column):.4g}" for column in columns]
    widths = [max(len(e), *(len(row[i]) for row in cells.values())) for i, e in enumerate(engines)]
    head = " ".join(f"{e:>{w}}" for e, w in zip(engines, widths, strict=True))
    body = [f"{model:14} " + " ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for model, row in cells.items()]
    return [title, f"{'':14} {head}", *body, ""]


def document(found: Sequence[Found], machine: Mapping[str, Any], *, fastest: bool) -> dict[str, Any]:
    """Return all results as plain data."""
    judged = [{**asdict(bar), "met": bar.met} for bar in bars(found, fastest=fastest)]
    return {"machine": dict(machine), "models": [asdict(item) for item in found], "bars": judged}


def wrong(found: Sequence[Found]) -> list[str]:
    """Return engines of ours that failed or are out of their bound, with their model."""
    failed = [f"{item.model}: {engine}" for item in found for engine in item.failed if engine in OURS]
    return failed + [f"{f.model}: {engine}" for f in found for engine, e in f.errors.items() if engine in OURS and not e["within"]]

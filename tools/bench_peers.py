"""`make bench-peers`: our engine against the engines that users would pick instead, on the same models with the same number of threads.

    python tools/bench_peers.py [--models cnn,bert] [--engines ours,openvino] [--rounds 15] [--skip load,memory] [--json]

For each model every engine lives in a process of its own, and they take turns (A B C A B C ...), each turn after uncounted runs; between
its turns an engine's process is stopped.  What is compared is the median over the turns of the median of a turn's runs; with --fastest, on
a machine that is not quiet, the fastest run (`chrt -r 1` before the command makes it quiet).  Outputs are compared with those of PyTorch
(NAME.ref.npy beside the model).  Loading, imports, compilation and memory are those of fresh processes: the median of up to five.

The models are those of tests/data/models/models.py, exported with PyTorch into a folder that is kept between calls.  Exit status 1 if an
engine of ours fails, or is out of its bound.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import checkout  # noqa: F401  # pyright: ignore[reportUnusedImport]
from bench_engines import DEFAULT, ENGINES, MODELS, OURS, Job
from bench_measure import Failed, Fresh, Resident, fresh_worker, median_of, repeated, ttc, worker
from bench_report import Found, Latency, document, report, wrong
from ttc.accuracy.distances import Exactness, compare, lowest_pcc
from ttc.settings.option_values import ENGINES as OUR_ENGINES

NAMES = "cnn,mlp,resnet50,mobilenetv2,unet,bert,vit,gpt2"
SECTIONS = ("latency", "load", "compile", "memory")
PACKAGES = ("onnxruntime", "openvino", "torch", "iree-base-compiler")
EXACTNESS = {"ours-high": Exactness.HIGH, "ours-bf16": Exactness.BITS16, "openvino-bf16": Exactness.BITS16}
"""The exactness of engines that compute with less than float32."""
FEWEST_ROUNDS, FRESH = 15, 5


@dataclass(frozen=True)
class Asked:
    """The request of the command line; built: the folder of archives."""

    engines: tuple[str, ...]
    sections: tuple[str, ...]
    rounds: int
    threads: int
    ours: str
    built: Path


# ---- what is built before -------------------------------------------------------------------------------------------------------


def export(name: str, folder: Path) -> Path:
    """Return the network's ONNX file, exported once; inputs and the reference lie beside it."""
    path = folder / f"{name}.onnx"
    if not path.exists():
        subprocess.run([sys.executable, str(MODELS), str(folder), name], check=True, capture_output=True)
    return path


def build(engine: str, model: Path, asked: Asked) -> tuple[Path | None, list[Fresh]]:
    """Return what an engine that compiles ahead of time runs, and processes of ttc that compiled it; nothing for the others."""
    if engine in OURS:
        path = asked.built / f"{model.stem}.{engine}.tti"
        command = ("compile", str(model), "-o", str(path), "-q", *OURS[engine])
        most = FRESH if "compile" in asked.sections else 1
        return path, [ttc(asked.threads, *command)] if most == 1 else repeated(lambda: ttc(asked.threads, *command), most)
    return (build_iree(model, asked.built), []) if engine == "iree" else (None, [])


def build_iree(model: Path, folder: Path) -> Path:
    """Build IREE's module, for the CPU it runs on."""
    text, path = folder / f"{model.stem}.mlir", folder / f"{model.stem}.vmfb"
    backend = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host"]
    for command in (["iree-import-onnx", str(model), "-o", str(text)], ["iree-compile", str(text), *backend, "-o", str(path)]):
        tool = Path(sys.executable).with_name(command[0])
        subprocess.run([str(tool), *command[1:]], check=True, capture_output=True)
    text.unlink()
    return path


# ---- one model ------------------------------------------------------------------------------------------------------------------


class Bench:
    """All measurements of one model."""

    def __init__(self, model: Path, asked: Asked) -> None:
        self._model, self._asked = model, asked
        self.found = Found(model.stem, model.stat().st_size)
        self._jobs: dict[str, Job] = {}

    def measure(self) -> Found:
        """Measure everything that is asked for; an engine that fails is named, and left out of what follows."""
        for engine in self._asked.engines:
            with self._noted(engine):
                built, processes = build(engine, self._model, self._asked)
                self._jobs[engine] = Job(self._model, built, self._asked.threads, self._asked.ours)
                if processes and "compile" in self._asked.sections:
                    self.found.compile[engine] = median_of(processes).seconds
        sections: dict[str, Callable[[], None]] = {"latency": self._latency, "load": self._load, "memory": self._memory}
        for name in self._asked.sections:
            sections.get(name, lambda: None)()
        return self.found

    def _latency(self) -> None:
        with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
            residents: dict[str, Resident] = {}
            for engine, job in list(self._jobs.items()):
                with self._noted(engine):
                    command = worker(engine, job, Path(folder) / f"{engine}.npz")
                    residents[engine] = stack.enter_context(Resident(command, job.threads))
            turns: dict[str, list[list[float]]] = {engine: [] for engine in residents}
            for _ in range(self._asked.rounds):
                for engine, resident in residents.items():
                    turns[engine].append(resident.turn())
            self.found.latency = {engine: Latency.of(seconds) for engine, seconds in turns.items()}
            outputs = {engine: _arrays(Path(folder) / f"{engine}.npz") for engine in residents}
        self._compare(outputs)

    def _compare(self, outputs: dict[str, list[np.ndarray]]) -> None:
        """With PyTorch's output, or onnxruntime's where there is none."""
        path = self._model.with_name(f"{self._model.stem}.ref.npy")
        wanted = [np.load(path, allow_pickle=False)] if path.exists() else outputs.get("onnxruntime", [])
        for engine, arrays in outputs.items():
            pairs = list(zip(arrays, wanted, strict=False))
            figures = [compare(a.astype(np.float32), b, EXACTNESS.get(engine, Exactness.FLOAT32)) for a, b in pairs]
            if figures:
                self.found.errors[engine] = {
                    "max_abs": max(f.max_abs for f in figures),
                    "relative_l2": max(f.relative_l2 for f in figures),
                    "pcc": lowest_pcc(figures),
                    "within": all(f.within for f in figures),
                }

    def _load(self) -> None:
        for engine, job in list(self._jobs.items()):
            with self._noted(engine):
                fresh = median_of(repeated(lambda engine=engine, job=job: fresh_worker(engine, job), FRESH))
                self.found.load[engine], self.found.imports[engine] = fresh.first_output, fresh.imports
                self.found.process[engine] = fresh.seconds

    def _memory(self) -> None:
        for engine, job in list(self._jobs.items()):
            with self._noted(engine):
                fresh = self._run_command(job) if engine in OURS else fresh_worker(engine, job)
                self.found.memory[engine] = fresh.peak_bytes

    def _run_command(self, job: Job) -> Fresh:
        """`ttc run` as users call it."""
        with zipfile.ZipFile(str(job.built)) as archive:
            arguments = json.loads(archive.read("manifest.json"))["programs"]["forward"]["arguments"]
        names = [argument["name"] for argument in arguments if argument["kind"] == "input"]
        files = [job.model.with_name(f"{job.model.stem}.in{index}.npy") for index in range(len(names))]
        inputs = [text for name, path in zip(names, files, strict=True) for text in ("--input", f"{name}={path}")]
        return ttc(job.threads, "run", str(job.built), "-q", "--engine", job.ours, "--threads", str(job.threads), *inputs)

    @contextmanager
    def _noted(self, engine: str) -> Iterator[None]:
        try:
            yield
        except (Failed, subprocess.CalledProcessError, FileNotFoundError) as reason:
            self.found.failed[engine] = str(reason)
            self._jobs.pop(engine, None)


def _arrays(path: Path) -> list[np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return [file[name] for name in file.files]


def machine(asked: Asked) -> dict[str, Any]:
    """Return what the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    versions: dict[str, str] = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except ModuleNotFoundError:
            continue
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "threads": asked.threads,
        "rounds": asked.rounds,
        "engine": asked.ours,
        "versions": versions,
    }


# ---- the command line -----------------------------------------------------------------------------------------------------------


def words(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a list of some of these, separated by commas."""

    def read(text: str) -> tuple[str, ...]:
        found = tuple(word for word in text.split(",") if word)
        unknown = [word for word in found if word not in known]
        if unknown or not found:
            raise argparse.ArgumentTypeError(f"'{text}' is not of {', '.join(known)}")
        return found

    return read


def rounds(text: str) -> int:
    """Read a number of rounds, at least FEWEST_ROUNDS: of fewer a median says little."""
    if not text.isdecimal() or int(text) < FEWEST_ROUNDS:
        raise argparse.ArgumentTypeError(f"it is at least {FEWEST_ROUNDS}")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--models", default=NAMES, help="names of models.py, or of ONNX files in the folder")
    found.add_argument("--engines", type=words(tuple(ENGINES)), default=DEFAULT, help=", ".join(ENGINES))
    found.add_argument("--our-engine", choices=OUR_ENGINES, default="native" if "native" in OUR_ENGINES else OUR_ENGINES[0])
    found.add_argument("--threads", type=int, default=2)
    found.add_argument("--rounds", type=rounds, default=FEWEST_ROUNDS)
    found.add_argument("--skip", type=words(SECTIONS), default=(), help=f"sections to leave out: {', '.join(SECTIONS)}")
    found.add_argument("--fastest", action="store_true", help="compare the fastest runs instead of medians")
    found.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ttc-networks", help="of the ONNX files")
    found.add_argument("--json", action="store_true")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = parser().parse_args(arguments)
    sections = tuple(name for name in SECTIONS if name not in options.skip)
    options.folder.mkdir(parents=True, exist_ok=True)
    found: list[Found] = []
    asked = Asked(options.engines, sections, options.rounds, options.threads, options.our_engine, options.folder)
    for name in options.models.split(","):
        print(f"{name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as built:
            found.append(Bench(export(name, options.folder), replace(asked, built=Path(built))).measure())
    shown = document(found, machine(asked), fastest=options.fastest)
    print(json.dumps(shown, indent=1) if options.json else report(found, fastest=options.fastest))
    for line in wrong(found):
        print(f"failed or out of bound: {line}", file=sys.stderr)
    return 1 if wrong(found) else 0


if __name__ == "__main__":
    sys.exit(main())

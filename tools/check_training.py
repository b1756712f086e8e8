"""Train small networks of thirteen architectures in every way, and compare gradients and weights with PyTorch's in float64.

    python tools/check_training.py [--networks mlp,vit] [--ways own,aot] [--accumulate 1,4] [--json]

- `eager`: PyTorch in float32, op by op, which shows what rounding alone does.
- `own`: `ttc.training`, whose gradients are those of ttc's own rules.
- `aot`: `torch.compile` with the backend ttc, whose gradients are those of AOTAutograd's graphs.
- `onnx`: the network as an ONNX file, trained in a process in which no framework is loaded.  A file does not tell which row of an
  embedding is padding: the reference of this way trains that row, too.

An update takes 16 rows, at once or as four microbatches.  The figure of gradients is the largest relative L2 error of any parameter's in
the first update, where one whose norm is below a thousandth of that of all is measured by that.  The figure of weights is the relative L2
error of all together after 20 updates with new rows each: biases that began at 0 are all rounding.  Exit status 1 if one is above
its bound.
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import checkout  # noqa: F401
import ttc
from small_networks import NETWORKS, Scores, Small, batches, small

SGD: dict[str, Any] = {"lr": 5e-4, "momentum": 0.9}
ADAMW: dict[str, Any] = {"lr": 2e-3, "eps": 1e-4}
"""Settings of optimizers; eps is so large that rounding of gradients of 0 chooses no sign."""
ROWS, STEPS, THREADS = 16, 20, 1
GRADIENTS, WEIGHTS = 4e-4, 1e-3
"""Bounds of relative L2 errors."""
WORKER = Path(__file__).with_name("training_files.py")
SMALL = 1e-3
"""The share of the norm of all parameters below which one parameter is measured by that share."""
Arrays = Mapping[str, np.ndarray]
Batches = Sequence[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Row:
    """One network, trained in one way.

    Args:
        network, way, accumulate: what was trained, how, and in how many microbatches an update.
        gradients, weights: relative L2 errors.
        seconds: of it all, compilation included.
    """

    network: str
    way: str
    accumulate: int
    gradients: float
    weights: float
    seconds: float

    @property
    def within(self) -> bool:
        """Whether both errors are within their bounds."""
        return self.gradients <= GRADIENTS and self.weights <= WEIGHTS


def optimizer_of(given: Small, network: nn.Module) -> torch.optim.Optimizer:
    """Return SGD with momentum for networks with batch norms, else AdamW."""
    return torch.optim.SGD(network.parameters(), **SGD) if given.has_batch_norms else torch.optim.AdamW(network.parameters(), **ADAMW)


def by_torch(given: Small, network: nn.Module, called: Callable[[Tensor], Tensor], rows: Batches, accumulate: int) -> tuple[Arrays, Arrays]:
    """Return gradients of the first update, and weights after all, as PyTorch's loop gives them.  called: the network, or what stands for
    it.
    """
    optimizer, loss, first = optimizer_of(given, network), nn.CrossEntropyLoss(), None
    for x, y in rows:
        optimizer.zero_grad()
        for part, target in zip(x.chunk(accumulate), y.chunk(accumulate), strict=True):
            (loss(called(part), target) / accumulate).backward()
        if first is None:
            first = {name: p.grad.numpy().copy() for name, p in network.named_parameters() if p.grad is not None}
        optimizer.step()
    return first or {}, {name: p.detach().numpy() for name, p in network.named_parameters()}


def by_reference(given: Small, rows: Batches, accumulate: int) -> tuple[Arrays, Arrays]:
    """Train by PyTorch's loop in float64."""
    network = copy.deepcopy(given.network).double()
    wide = [(x.double() if x.is_floating_point() else x, y) for x, y in rows]
    return by_torch(given, network, network, wide, accumulate)


def by_eager(given: Small, rows: Batches, accumulate: int) -> tuple[Arrays, Arrays]:
    """Train by PyTorch, op by op."""
    network = copy.deepcopy(given.network)
    return by_torch(given, network, network, rows, accumulate)


def by_aot(given: Small, rows: Batches, accumulate: int) -> tuple[Arrays, Arrays]:
    """Train with graphs of AOTAutograd, compiled by our backend."""
    torch._dynamo.reset()  # noqa: SLF001 - PyTorch's own name for it
    network = copy.deepcopy(given.network)
    options = {"target": "host", "threads": THREADS, "fallback": False}
    with torch._dynamo.config.patch(allow_rnn=True):  # noqa: SLF001 - else recurrent layers run in PyTorch
        called = torch.compile(network, backend="ttc", dynamic=False, fullgraph=True, options=options)
        return by_torch(given, network, called, rows, accumulate)


def by_own(given: Small, rows: Batches, accumulate: int) -> tuple[Arrays, Arrays]:
    """Train by `ttc.training`: gradients in steps, without an update; then whole updates, from the weights before."""
    network = copy.deepcopy(given.network)
    optimizer = optimizer_of(given, network)
    with ttc.training(
        network, loss=nn.CrossEntropyLoss(), optimizer=optimizer, accumulate=accumulate, target="host", threads=THREADS
    ) as executor:
        x, y = rows[0]
        for part, target in zip(x.chunk(accumulate), y.chunk(accumulate), strict=True):
            executor.forward(part)
            executor.backward(target)
        gradients = {name: value.numpy().copy() for name, value in executor.grads().items()}
        for x, y in rows:
            executor(x, y)
        executor.pull_weights()
    return gradients, {name: p.detach().numpy() for name, p in network.named_parameters()}


def by_file(given: Small, rows: Batches, accumulate: int) -> tuple[Arrays, Arrays]:
    """Train by `ttc.training` of an ONNX file, in a process that `training_files.py` runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network, part = copy.deepcopy(given.network).eval(), rows[0][0][: ROWS // accumulate]
        write_onnx(given, network, part, folder / "model.onnx")
        np.savez(folder / "rows.npz", x=np.stack([x.numpy() for x, _ in rows]), y=np.stack([y.numpy() for _, y in rows]))
        kind, settings = ("sgd", SGD) if given.has_batch_norms else ("adamw", ADAMW)
        optimizer = f"{kind}:{','.join(f'{key}={value}' for key, value in settings.items())}"
        files = [str(folder / file) for file in ("rows.npz", "weights.npz")]
        command = [sys.executable, str(WORKER), str(folder / "model.onnx"), "cross_entropy", optimizer, str(accumulate), *files]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        with np.load(files[1]) as found:
            arrays = {key: found[key] for key in found.files}
    gradients, weights = (
        {key.removeprefix(kind): x for key, x in arrays.items() if key.startswith(kind)} for kind in ("gradient.", "weight.")
    )
    known = {id(p): name for name, p in given.network.named_parameters()}
    for name, p in given.network.named_parameters(remove_duplicate=False):  # the file has one of the names of a parameter
        for found in (gradients, weights):
            if name in found:
                found.setdefault(known[id(p)], found[name])
    return gradients, weights


def write_onnx(given: Small, network: nn.Module, part: Tensor, path: Path) -> None:
    """Export a network by PyTorch's exporter, or where that fails by its older one; neither folds weights.

    In evaluation the older one would make one parameter of those that have equal values.
    """
    if isinstance(given.network, Scores) and type(given.network.model).__name__ in OLDER_EXPORTER:
        trained = {"training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}
        torch.onnx.export(network.train(), (part,), path, dynamo=False, opset_version=17, **trained)
    else:
        torch.onnx.export(network, (part,), path, dynamo=True, optimize=False, verbose=False)


WAYS = {"eager": by_eager, "own": by_own, "aot": by_aot, "onnx": by_file}
OLDER_EXPORTER = ("T5ForConditionalGeneration", "SwinForImageClassification")
"""Models that PyTorch's exporter of programs cannot export: it fails at a view."""


def without_padding(given: Small) -> Small:
    """Return a network whose embeddings have no rows of padding; the same one if it has none."""
    padded = [name for name, module in given.network.named_modules() if getattr(module, "padding_idx", None) is not None]
    if not padded:
        return given
    network = copy.deepcopy(given.network)
    for name in padded:
        setattr(network.get_submodule(name), "padding_idx", None)  # noqa: B010 - modules of any class
    return replace(given, network=network)


def largest_error(found: Arrays, wanted: Arrays) -> float:
    """Return the largest relative L2 error of an array; infinite where one is missing."""
    least = SMALL * _norm(wanted.values())
    return max(_norm([found.get(name, np.inf) - value]) / max(_norm([value]), least) for name, value in wanted.items())


def whole_error(found: Arrays, wanted: Arrays) -> float:
    """Return the relative L2 error of all arrays together."""
    return _norm([found.get(name, np.inf) - value for name, value in wanted.items()]) / _norm(wanted.values())


def _norm(values: Iterable[np.ndarray]) -> float:
    return float(np.sqrt(sum(float(np.square(value, dtype=np.float64).sum()) for value in values)))


def measured(name: str, ways: Sequence[str], accumulates: Sequence[int], tell: Callable[[Row], None]) -> list[Row]:
    """Train a network in the given ways."""
    whole = small(name)
    bare = without_padding(whole)
    rows, found = list(batches(whole, STEPS, ROWS)), list[Row]()
    for accumulate in accumulates:
        references = {id(given): by_reference(given, rows, accumulate) for given in (whole, *([bare] if "onnx" in ways else []))}
        for way in ways:
            started = time.perf_counter()
            given = bare if way == "onnx" else whole
            gradients, weights = references[id(given)]
            own = WAYS[way](given, rows, accumulate)
            row = Row(
                name,
                way,
                accumulate,
                largest_error(own[0], gradients),
                whole_error(own[1], weights),
                round(time.perf_counter() - started, 1),
            )
            found.append(row)
            tell(row)
    return found


def table(rows: Sequence[Row]) -> str:
    """Return figures as a table of Markdown: a row a network."""
    keys = list(dict.fromkeys((row.way, row.accumulate) for row in rows))
    heads = [f"{way}, {count} microbatch{'es' if count > 1 else ''}" for way, count in keys]
    lines = ["| network | " + " | ".join(heads) + " |", "|---" * (len(keys) + 1) + "|"]
    for name in dict.fromkeys(row.network for row in rows):
        own = {(row.way, row.accumulate): f"{row.gradients:.0e}, {row.weights:.0e}" for row in rows if row.network == name}
        cells = [own.get(key, "") for key in keys]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Run the tool; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--accumulate", default="1,4", help="microbatches of an update")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(THREADS)
    accumulates = [int(text) for text in options.accumulate.split(",")]

    def tell(row: Row) -> None:
        errors = f"gradients {row.gradients:.1e}  weights {row.weights:.1e}"
        print(f"{row.network:12} {row.way:6} {row.accumulate}  {errors}  {row.seconds} s", file=sys.stderr)

    rows = [row for name in options.networks.split(",") for row in measured(name, options.ways.split(","), accumulates, tell)]
    print(json.dumps([asdict(row) for row in rows], indent=1) if options.json else table(rows))
    return 0 if rows and all(row.within for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

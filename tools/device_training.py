"""Training steps on a simulated device: how they agree with the host's, and what the performance model says of them.

    python tools/device_training.py [--networks bert,gpt2,resnet18] [--target n150] [--microbatches 1,4] [--steps 5] [--json]

Each network is compiled with AdamW (ResNet-18: SGD with momentum) for the host and for the device, a step taking all rows in so many
microbatches.  The figure of weights is the relative L2 difference of all parameters after the steps, in Float32; that of gradients is
the relative L2 difference of the sums that `backward` adds up for one microbatch, the device storing Float16_b.  "By rounding alone" is how
much gradients of PyTorch in float64 change when what each layer gives is rounded to bfloat16, and nothing else is: no device that stores
such tensors can come much nearer.  Epochs, cycles and the matrix engines' rate are those of program `step` in Float16_b, by the
performance model.  `--steps 0` leaves the runs out.
Exit status 1 if a figure is above its bound: 1e-3 and 2e-2.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import checkout  # noqa: F401
import ttc
from training_networks import Language, Task, next_words, task
from ttc.dialects.netlist.model import Host
from ttc.runtime.perf.run import run_cost

NETWORKS = ("bert", "gpt2", "resnet18")
UNUSUAL = {"gpt2-768": (768, 8), "gpt2-16": (256, 16)}
"""Widths and rows of a step of further GPT-2s of 4 layers: one in its own width, and one with twice as many rows."""
WEIGHTS, GRADIENTS = 1e-3, 2e-2
"""Bounds of relative L2 differences."""
STORED = "Float16_b"
"""The format of tensors on the device where it is not Float32."""
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Row:
    """One network, trained in so many microbatches.

    Args:
        weights, gradients, rounding: relative L2 differences; None where nothing was run.
        epochs: on the device, of a step; host_ops: ops that the host computes.
        cycles: of a step; switching: the share of it in which epochs begin; matrix_rate: the share of the matrix engines' rate.
        seconds: of compilation.
    """

    network: str
    microbatches: int
    weights: float | None
    gradients: float | None
    rounding: float | None
    epochs: int
    host_ops: int
    cycles: float
    switching: float
    matrix_rate: float
    seconds: float

    @property
    def within(self) -> bool:
        """Whether both differences are within their bounds."""
        return (self.weights or 0.0) <= WEIGHTS and (self.gradients or 0.0) <= GRADIENTS


class Scores(torch.nn.Module):
    """A network that gives scores[rows, tokens, words], with the words in the second dimension, as losses take them."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Tensor) -> Tensor:
        """Return scores[rows, words, tokens]."""
        return self.network(batch).transpose(1, 2)


def task_of(name: str) -> Task:
    """Return the task of a network by its name, the same in every process."""
    if name not in UNUSUAL:
        return task(name)
    width, rows = UNUSUAL[name]
    torch.manual_seed(0)
    return next_words(Language(causal=True, width=width), rows)


def compiled(given: Task, target: str, microbatches: int, format: str | None = None) -> Any:
    """Compile a training program whose step takes all rows of a task."""
    norms = any(isinstance(module, torch.nn.BatchNorm2d) for module in given.network.modules())
    optimizer = "sgd:lr=0.0005,momentum=0.9" if norms else "adamw:lr=0.002,eps=0.0001"
    part = given.batch[: len(given.batch) // microbatches]
    options = {
        "loss": "cross_entropy",
        "optimizer": optimizer,
        "target": target,
        "microbatches": microbatches,
        "format": format or "source",
    }
    return ttc.compile(Scores(given.network) if given.target.dim() > 1 else given.network, (part,), **options)  # pyright: ignore[reportArgumentType]


def inputs_of(given: Task, program: Any, rows: int) -> dict[str, NDArray[Any]]:
    """Return the first rows of a task, by the names of the program's inputs."""
    training = program.description.training
    target = given.target[:rows]
    return {training.inputs[0]: given.batch[:rows].numpy(), training.targets[0]: target.numpy()}


def trained(given: Task, program: Any, steps: int) -> Arrays:
    """Return the parameters after so many steps over all rows."""
    numbers = {name: np.array(value, np.float32) for name, value in program.description.training.hyper.items()}
    with ttc.Executor(program) as executor:
        for _ in range(steps):
            executor.run({**inputs_of(given, program, len(given.batch)), **numbers}, "step")
        return executor.parameters()


def gradients(given: Task, program: Any, rows: int) -> Arrays:
    """Return what `backward` adds up for one microbatch."""
    with ttc.Executor(program) as executor:
        executor.run(inputs_of(given, program, rows), "backward")
        return {name: value for name, value in executor.states().items() if name.startswith("grad.")}


def rounding(given: Task, rows: int) -> float:
    """Return by how much gradients in float64 change when the results of layers, and nothing else, are rounded to bfloat16."""
    exact, rounded = ({} for _ in range(2))
    for found, hooked in ((exact, False), (rounded, True)):
        network = copy.deepcopy(given.network).double().train()
        for module in network.modules():
            if hooked and not list(module.children()):
                module.register_forward_hook(lambda _module, _given, result: _Rounded.apply(result))
        batch, target = given.batch[:rows], given.target[:rows].reshape(-1)
        result = network(batch.double() if batch.is_floating_point() else batch)
        torch.nn.functional.cross_entropy(result.flatten(0, -2), target).backward()
        found.update({name: p.grad.numpy() for name, p in network.named_parameters() if p.grad is not None})
    return difference(rounded, exact)


class _Rounded(torch.autograd.Function):
    """A tensor as bfloat16 holds it; cotangents pass as they are."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        del ctx
        return value.to(torch.bfloat16).to(value.dtype)

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Tensor:
        del ctx
        return cotangent


def difference(found: Arrays, wanted: Arrays) -> float:
    """Return the relative L2 difference of all arrays together."""
    squares = [(np.square(found[k] - x, dtype=np.float64).sum(), np.square(x, dtype=np.float64).sum()) for k, x in wanted.items()]
    return float(np.sqrt(sum(a for a, _ in squares) / sum(b for _, b in squares)))


def measured(name: str, target: str, microbatches: int, steps: int) -> Row:
    """Compile one network, run it on the host and the device, and estimate its cost."""
    given = task_of(name)
    rows = len(given.batch) // microbatches
    start = time.perf_counter()
    stored = compiled(given, target, microbatches, STORED)
    seconds = time.perf_counter() - start
    weights = differs = by_rounding = None
    if steps:
        host = compiled(given, "host", microbatches)
        weights = difference(trained(given, compiled(given, target, microbatches), steps), trained(given, host, steps))
        differs = difference(gradients(given, stored, rows), gradients(given, host, rows))
        by_rounding = rounding(given, rows)
    cost = run_cost(stored.netlist, "step")
    graphs = [g for g in stored.netlist.graphs.values() if g.name in {str(i.args[0]) for i in stored.netlist.programs["step"].instructions}]
    on_host = [op for graph in graphs for op in graph.ops if isinstance(op.place, Host)]
    epochs = sum(not any(isinstance(op.place, Host) for op in graph.ops) for graph in graphs)
    costs = cost.cycles, cost.switch_cycles / cost.cycles, cost.math_peak
    return Row(name, microbatches, weights, differs, by_rounding, epochs, len(on_host), *costs, round(seconds, 1))


def table(rows: list[Row]) -> str:
    """Return figures as a table of Markdown."""
    heads = ["network", "microbatches", "weights", "gradients", "by rounding alone"]
    heads += ["epochs", "ops on the host", "cycles", "switching", "matrix rate"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        found = ["" if x is None else f"{x:.1e}" for x in (row.weights, row.gradients, row.rounding)]
        cost = [f"{row.cycles:,.0f}", f"{row.switching:.0%}", f"{row.matrix_rate:.1%}"]
        lines.append(f"| {row.network} | {row.microbatches} | {' | '.join([*found, str(row.epochs), str(row.host_ops), *cost])} |")
    return "\n".join(lines)


def main() -> int:
    """Run the tool; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--target", default="n150")
    parser.add_argument("--microbatches", default="1,4", help="of a step")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.networks.split(","):
        for count in options.microbatches.split(","):
            rows.append(measured(name, options.target, int(count), options.steps))
            print(rows[-1], file=sys.stderr)
    print(json.dumps([asdict(row) for row in rows], indent=1) if options.json else table(rows))
    return 0 if all(row.within for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

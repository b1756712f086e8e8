"""Models of PyTorch whose samples do not depend on each other: their batches are streamed on a device, however they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from ttc.compiler.driver import Compilation, compile_source  # noqa: E402
from ttc.compiler.source import Source  # noqa: E402
from ttc.dialects.core.batch_axis import BatchAxis  # noqa: E402
from ttc.importers.torch.exported import import_exported  # noqa: E402
from ttc.options import CompileOptions  # noqa: E402
from ttc.runtime.arguments import inputs_of  # noqa: E402
from ttc.runtime.executor import Executor  # noqa: E402
from ttc.runtime.loader import load_program  # noqa: E402
from ttc.runtime.program import Program  # noqa: E402

BATCH, ROWS, WIDTH, HEADS = 8, 48, 64, 4


class Leading(nn.Module):
    """Attention whose queries, keys and values lead a transposed tensor, as in timm."""

    def __init__(self) -> None:
        super().__init__()
        self.three, self.last = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        n, rows, width = x.shape
        q, k, v = self.three(x).reshape(n, rows, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4).unbind(0)
        return self.last(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, rows, width))


class Probe(nn.Module):
    """A query of the model's own looks at all rows, as in the heads of SigLIP."""

    def __init__(self) -> None:
        super().__init__()
        self.probe, self.attention = nn.Parameter(torch.randn(1, 1, WIDTH)), nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(self.probe.repeat(x.shape[0], 1, 1), x, x)[0][:, 0]


class Chosen(nn.Module):
    """One row of each sample, as heads of classifiers take it."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(x)[torch.arange(x.shape[0]), x[:, :, 0].argmax(-1)]


class Folded(nn.Module):
    """Windows along the rows, as `unfold` makes them."""

    def forward(self, x: Tensor) -> Tensor:
        return F.unfold(x.transpose(1, 2)[..., None], (9, 1), padding=(4, 0))


class Turned(nn.Module):
    """Attention whose heads are folded with the samples: before them, or behind."""

    def __init__(self, order: tuple[int, ...]) -> None:
        super().__init__()
        self.first, self.order = nn.Linear(WIDTH, WIDTH), order

    def forward(self, x: Tensor) -> Tensor:
        n, rows, width = x.shape
        heads = self.first(x).view(n, rows, HEADS, width // HEADS).permute(self.order)
        folded = heads.reshape(n * HEADS, rows, width // HEADS)
        found = torch.bmm(torch.softmax(torch.bmm(folded, folded.mT), -1), folded)
        return found.view(heads.shape).permute([self.order.index(axis) for axis in range(4)]).reshape(n, rows, width)


class Columns(nn.Module):
    """Samples are columns of what is multiplied."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(24, WIDTH)), nn.Parameter(torch.randn(24, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.weight @ x.t() + self.bias).t()


class LastStep(nn.Module):
    """The last output of a recurrent layer, which computes with time first."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.last = nn.LSTM(16, 32, batch_first=True, bidirectional=True), nn.Linear(64, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layer(x)[0][:, -1])


class TimeFirst(nn.Module):
    """Two recurrent layers in which time comes first, with all outputs and states; first states are given."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.GRU(16, 32, 2)

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        return self.layers(x, h)


class Mixed(nn.Module):
    """Samples and steps that depend on each other: neither can be cut."""

    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(0, 1).reshape(-1, x.shape[2]).cumsum(0)


MODELS = {
    "leading": Leading,
    "encoder": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 96, batch_first=True), 1),
    "probe": Probe,
    "chosen": Chosen,
    "folded": Folded,
    "heads behind samples": lambda: Turned((0, 2, 1, 3)),
    "heads before samples": lambda: Turned((2, 0, 1, 3)),
    "columns": Columns,
    "last step": LastStep,
    "time first": TimeFirst,
    "mixed": Mixed,
}
SHAPES = {"columns": [(64, WIDTH)], "last step": [(128, 3, 16)], "time first": [(3, 128, 16), (2, 128, 32)], "mixed": [(64, 3, 16)]}
"""Shapes of inputs, of other models than those that take sequences of samples."""


def compiled(name: str, **options: Any) -> tuple[Compilation, nn.Module, tuple[Tensor, ...]]:
    """A model's program, the model, and inputs."""
    torch.manual_seed(sum(name.encode()))
    model = MODELS[name]().eval()
    x = tuple(torch.randn(shape) for shape in SHAPES.get(name, [(BATCH, ROWS, WIDTH)]))
    module, weights = import_exported(torch.export.export(model, x))
    return compile_source(Source(module, weights, "import"), CompileOptions(**options)), model, x


def check_results(program: Program, model: nn.Module, x: tuple[Tensor, ...]) -> None:
    """A program computes what the model does."""
    names = [argument.name for argument in inputs_of(program.entry("forward"))]
    with torch.no_grad(), Executor(program) as executor:
        found = list(executor.run({name: value.numpy() for name, value in zip(names, x, strict=True)}).values())
        wanted = model(*x)
    for y, want in zip(found, [wanted] if isinstance(wanted, Tensor) else wanted, strict=True):
        np.testing.assert_allclose(y, want.numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", MODELS)
def test_batches_are_streamed(name: str) -> None:
    found, model, x = compiled(name, target="n150")
    assert found.package is not None
    assert all((graph.input_count > 1) == (name != "mixed") for graph in found.package.netlist.graphs.values())
    check_results(found.program(), model, x)


def test_replicas_divide_a_batch_in_the_second_dimension(tmp_path: Path) -> None:
    found, model, x = compiled("time first", target="n300", chips=2, parallel="batch")
    assert found.package is not None
    arguments = found.package.netlist.programs["forward"].arguments
    assert [(len(argument.queues), argument.batch) for argument in arguments] == [(2, BatchAxis(1))] * 2
    found.program().save(tmp_path / "m.tti")
    check_results(load_program(tmp_path / "m.tti"), model, x)

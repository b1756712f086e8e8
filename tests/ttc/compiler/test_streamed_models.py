"""Models of PyTorch whose samples do not depend on each other: their batches are streamed on a device, however they are written."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from ttc.compiler.driver import compile_source  # noqa: E402
from ttc.compiler.source import Source  # noqa: E402
from ttc.importers.torch.exported import import_exported  # noqa: E402
from ttc.options import CompileOptions  # noqa: E402
from ttc.runtime.arguments import inputs_of  # noqa: E402
from ttc.runtime.executor import Executor  # noqa: E402

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


MODELS = {
    "leading": Leading,
    "encoder": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 96, batch_first=True), 1),
    "probe": Probe,
    "chosen": Chosen,
    "folded": Folded,
}


@pytest.mark.parametrize("name", MODELS)
def test_batches_are_streamed(name: str) -> None:
    torch.manual_seed(0)
    model, x = MODELS[name]().eval(), torch.randn(BATCH, ROWS, WIDTH)
    module, weights = import_exported(torch.export.export(model, (x,)))
    compiled = compile_source(Source(module, weights, "import"), CompileOptions(target="n150"))
    assert compiled.package is not None
    assert all(graph.input_count > 1 for graph in compiled.package.netlist.graphs.values())
    program = compiled.program()
    (given,) = inputs_of(program.entry("forward"))
    with torch.no_grad(), Executor(program) as executor:
        (found,) = executor.run({given.name: x.numpy()}).values()
        assert np.allclose(found, model(x).numpy(), atol=2e-5)

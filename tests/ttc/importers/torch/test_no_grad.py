"""Blocks of torch.no_grad() and detached values: constants to gradients, and nothing at all where none are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from ttc.dialects.core.ir.adapter import print_op  # noqa: E402
from ttc.importers.torch.exported import import_exported  # noqa: E402

HOST: dict[str, Any] = {"target": "host"}


class Blocks(torch.nn.Module):
    """Layers of which one runs in a block, with a block with gradients inside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.kept, self.inner, self.last = (torch.nn.Linear(4, 4) for _ in range(4))

    def forward(self, x: Any) -> Any:
        y = self.first(x)
        with torch.no_grad():
            z = self.kept(y).tanh()
            same = y
            with torch.enable_grad():
                again = self.inner(z) * z
        return self.last(y * z) + again + same


class StraightThrough(torch.nn.Module):
    """Values that are rounded forward, with the gradients of what is not rounded."""

    def __init__(self, *, stops: bool = True) -> None:
        super().__init__()
        self.stops = stops
        self.first, self.last = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        step = (x * 4).round() / 4 - x
        return self.last(x + (step.detach() if self.stops else step))


class Padded(torch.nn.Module):
    """Embeddings of which a row is padding."""

    def __init__(self, *, stops: bool = True) -> None:
        super().__init__()
        self.rows = torch.nn.Embedding(6, 4, padding_idx=2)
        if not stops:
            self.rows.padding_idx = None
        self.last = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.last(self.rows(x.abs().long() % 6).sum(-2))


def pair(kind: type[Any], **options: Any) -> tuple[Any, Any]:
    """Two networks of a kind of the same weights, no row of them zeros."""
    found, other = kind(), kind(**options)
    for parameter in found.parameters():
        torch.nn.init.normal_(parameter)
    other.load_state_dict(found.state_dict())
    return found, other


@pytest.mark.parametrize("kind", [Blocks, StraightThrough, Padded])
def test_an_update_is_pytorchs(kind: type[Any], rng: np.random.Generator) -> None:
    torch.manual_seed(0)
    network, theirs = pair(kind)
    x = torch.tensor(rng.standard_normal((5, 4)).astype(np.float32) * 5)
    target = torch.zeros_like(theirs(x))
    with ttc.training(network, loss="mse", optimizer="sgd:lr=0.5", **HOST) as executor:
        executor(x, target)
        executor.pull_weights()
    torch.nn.functional.mse_loss(theirs(x), target).backward()
    torch.optim.SGD(theirs.parameters(), lr=0.5).step()
    for name, wanted in theirs.state_dict().items():
        torch.testing.assert_close(network.state_dict()[name], wanted, rtol=1e-4, atol=1e-4, msg=name)


@pytest.mark.parametrize("kind", [StraightThrough, Padded])
def test_programs_for_inference_are_the_same_without(kind: type[Any], tmp_path: Path) -> None:
    found, other = pair(kind, stops=False)
    for index, network in enumerate((found, other)):
        ttc.compile(network, (torch.ones(5, 4),), **HOST).save(tmp_path / f"{index}.tti")
    assert (tmp_path / "0.tti").read_bytes() == (tmp_path / "1.tti").read_bytes()


def test_a_program_is_as_it_was_once_it_is_imported() -> None:
    program = torch.export.export(Blocks(), (torch.ones(5, 4),))
    before = [str(module.code) for module in program.graph_module.modules()]
    module, _ = import_exported(program)
    assert print_op(module).count("nn.stop_gradient") == 1
    assert [str(module.code) for module in program.graph_module.modules()] == before

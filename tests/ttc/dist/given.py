"""A script for two processes: what is missing or wrong in one is an error of both, and they go on; what is not finite; frozen stages."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan, nan
from typing import Any

import pytest
import torch
from torch import nn

from tests.ttc.dist.equal import CLASSES, ROWS, WIDTH, batches, close, network
from tests.ttc.dist.started import end
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, Runner, mesh


def runner(of: Mesh, **options: Any) -> Runner:
    return Runner(network(), **{"mesh": of, "loss": nn.CrossEntropyLoss(), "microbatches": 2, "target": None, **options})


def refused(call: Callable[[], object], what: str) -> None:
    """Raises AssertionError unless both processes have an error, one of them this."""
    with pytest.raises(Error) as caught:
        call()
    assert caught.value.code == "E0801", caught.value
    says = what in str(caught.value)
    assert says or "another process cannot run its rows" in str(caught.value), caught.value
    both = torch.tensor(int(says))
    torch.distributed.all_reduce(both)
    assert both > 0, f"no process says '{what}'"


def refusals(of: Mesh) -> None:
    ((x, target),) = batches(5, 1)
    made = runner(of)
    refused(lambda: made.step(target=target), "the first stage takes inputs")
    refused(lambda: made.eval(), "the first stage takes inputs")
    refused(lambda: made.eval(x[:0]), "0 rows cannot be 2 microbatches")
    refused(lambda: made.step(x), "the loss takes targets")
    refused(lambda: made.step(x, target={"labels": target}), "tensors with rows")  # pyright: ignore[reportArgumentType]
    refused(lambda: runner(of, microbatches=ROWS + 1).step(x, target=target), "16 rows cannot be 17 microbatches")
    with torch.no_grad():
        refused(lambda: made.step(x, target=target), "they are turned off")
    expected = nn.functional.cross_entropy(network()(x), target).detach()
    close(made.step(x, target=target).loss, expected, "loss afterwards")
    close(runner(of, loss=nn.functional.cross_entropy).step(x, target=target).loss, expected, "loss of a function")


def not_finite(of: Mesh) -> None:
    """What one stage has is known to all; a loss that is no number is that of its microbatch alone."""
    ((x, target),) = batches(5, 1)
    made = runner(of)
    made.step(x, target=target)
    if of.rank == 1:
        made.parameters()[-1].grad = torch.full_like(made.parameters()[-1], nan)
    before = [p.grad.clone() for p in made.parameters() if p.grad is not None]
    refused(lambda: made.clip_grad_norm_(1.0, error_if_nonfinite=True), "the norm of the gradients is nan")
    kept = [p.grad for p in made.parameters() if p.grad is not None]
    assert all(torch.equal(a.nan_to_num(7), b.nan_to_num(7)) for a, b in zip(kept, before, strict=True))
    assert isnan(float(made.clip_grad_norm_(1.0)))
    x[0] = nan
    found = made.step(x, target=target)
    assert isnan(float(found.loss))
    assert found.losses.isnan().tolist() == [True, False]


class Frozen(nn.Sequential):
    """The first or last layers are not trained."""

    def __init__(self, frozen: slice) -> None:
        super().__init__(*network())
        for layer in list(self)[frozen]:
            layer.requires_grad_(False)


def frozen(of: Mesh) -> None:
    """Stages without gradients, before those that have them and after."""
    ((x, target),) = batches(5, 1)
    for layers in (slice(0, 3), slice(3, 6), slice(0, 6)):
        alone = Frozen(layers)
        loss = nn.functional.cross_entropy(alone(x), target)
        made = Runner(Frozen(layers), mesh=of, loss=nn.CrossEntropyLoss(), microbatches=2)
        close(made.step(x, target=target).loss, loss.detach(), "loss of a frozen model")
        if loss.requires_grad:
            loss.backward()
        known = dict(alone.named_parameters())
        for part in made.stages:
            for name, parameter in part.named_parameters():
                assert (parameter.grad is None) == (known[name].grad is None), name
                if parameter.grad is not None:
                    close(parameter.grad, known[name].grad, name)  # pyright: ignore[reportArgumentType]


def replicas(of: Mesh) -> None:
    """Replicas with different numbers of rows: losses over classes count their targets, others cannot."""
    x, target = torch.randn(12, WIDTH, generator=torch.Generator().manual_seed(2)), torch.arange(12) % CLASSES
    own = slice(0, 8) if of.rank == 0 else slice(8, 12)
    alone = network()
    wanted = nn.functional.cross_entropy(alone(x), target)
    wanted.backward()
    made = runner(of)
    close(made.step(x[own], target=target[own]).loss, wanted.detach(), "loss of 8 and 4 rows")
    for mine, known in zip(made.parameters(), alone.parameters(), strict=True):
        close(mine.grad, known.grad, "gradient of 8 and 4 rows")  # pyright: ignore[reportArgumentType]
    other = runner(of, loss=nn.MSELoss())
    refused(lambda: other.step(x[own], target=torch.zeros(12, CLASSES)[own]), "replicas have different numbers of rows")
    empty = x[:8] if of.rank == 0 else x[:0]
    refused(lambda: made.step(empty, target=target[: len(empty)]), "0 rows cannot be 2 microbatches")
    close(other.step(x[:4], target=torch.zeros(4, CLASSES)).loss, network()(x[:4]).square().mean().detach(), "loss afterwards")


def main() -> None:
    of = mesh(pipe=2)
    refusals(of)
    not_finite(of)
    frozen(of)
    replicas(mesh(data=2, pipe=1))
    print(f"process {of.rank} is right", flush=True)


if __name__ == "__main__":
    main()
    end()

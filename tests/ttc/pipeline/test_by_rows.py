"""`ttc.training` of a model in stages gives what it gives of the whole model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttc
from tests.draws import rng_of_test

torch: Any = pytest.importorskip("torch", reason="stages are modules of PyTorch")

PLAN = {"0": 0, "2": 1, "4": 2}


def network() -> Any:
    """Three layers with functions between them."""
    torch.manual_seed(0)
    linear = torch.nn.Linear
    return torch.nn.Sequential(linear(4, 5), torch.nn.Tanh(), linear(5, 6), torch.nn.Tanh(), linear(6, 3))


def rows() -> tuple[Any, Any]:
    rng = rng_of_test()
    return tuple(torch.from_numpy(rng.standard_normal((24, width)).astype(np.float32)) for width in (4, 3))  # pyright: ignore[reportReturnType]


def in_torch(model: Any) -> Any:
    """An optimizer with two groups, one of which has parameters of two stages."""
    return torch.optim.AdamW(
        [{"params": model[0].parameters(), "lr": 0.01}, {"params": [*model[2].parameters(), *model[4].parameters()], "lr": 0.02}]
    )


def trained(optimizer: Any, given: tuple[Any, Any], **options: Any) -> list[Any]:
    """All that an executor gives: of calls between which rates change, of single steps, and its weights."""
    model, (x, y) = network(), given
    chosen: Any = optimizer(model) if callable(optimizer) else optimizer
    with ttc.training(model, loss="mse", optimizer=chosen, accumulate=3, iterations=2, **options) as executor:
        found = [executor.output_shapes(x, y), executor(x, y)]
        if callable(optimizer):
            chosen.param_groups[1]["lr"] = 0.5
        else:
            executor.optimizer = "sgd:lr=0.3,momentum=0.9"
        found += [executor(x, y), executor.losses.copy()]
        executor.pull_weights()
        found += [p.detach().clone() for p in model.parameters()]
        with torch.no_grad():
            model[2].bias.add_(0.25)
        executor.push_weights()
        found += [executor.forward(x[:4]), executor.backward(y[:4]), executor.grads()]
        executor.update()
        return [*found, executor.weights()]


@pytest.mark.parametrize("optimizer", ["sgd:lr=0.1,momentum=0.9", in_torch], ids=["text", "torch"])
@pytest.mark.parametrize(
    ("both", "staged"),
    [
        ({}, {}),
        ({"replicas": 2}, {"schedule": "gpipe", "mode": "threads"}),
        ({"output": "last", "loss_rows": "output"}, {"schedule": "sequential"}),
    ],
    ids=["plain", "replicas", "losses of microbatches"],
)
def test_stages_give_what_the_whole_model_gives(optimizer: Any, both: dict[str, Any], staged: dict[str, Any]) -> None:
    given = rows()
    whole = trained(optimizer, given, target="host", **both)
    stages = trained(optimizer, given, devices=["host"] * 3, plan=PLAN, **both, **staged)
    for found, wanted in zip(stages, whole, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_state_goes_from_stages_to_a_whole_model_and_on() -> None:
    x, y = rows()
    options = {"loss": "mse", "optimizer": "sgd:lr=0.1,momentum=0.9"}
    with (
        ttc.training(network(), devices=["host"] * 3, plan=PLAN, **options) as first,
        ttc.training(network(), target="host", **options) as other,
    ):
        first(x, y)
        other(x, -y)
        other.load_state_dict({name: first.state_dict()[name] for name in other.state_dict()})
        torch.testing.assert_close(first(x, y), other(x, y), rtol=1e-5, atol=1e-6)
        with pytest.raises(ttc.Error, match="no stage has a parameter or state 'nothing'"):
            first.session.assign({"nothing": np.zeros(1, np.float32)})


def test_a_microbatch_that_has_gone_forward_goes_back_first() -> None:
    x, y = rows()
    with ttc.training(network(), loss="mse", optimizer="sgd", devices=["host"] * 3, plan=PLAN) as executor:
        executor.forward(x)
        with pytest.raises(ttc.Error, match="has gone forward, and not back"):
            executor.forward(x)
        assert float(executor.backward(y)) > 0

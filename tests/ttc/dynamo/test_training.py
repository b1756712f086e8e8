"""Training under `torch.compile`: whichever way parameters are updated, losses and parameters are those of PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

STEPS, RATE, TOLERANCE = 5, 0.05, 1e-4
Compile = Callable[..., Any]
Step = Callable[[nn.Module], None]


class Network(nn.Module):
    """With batch norm, and an embedding that the last layer shares; no bias, of which a norm leaves nothing but rounding errors."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(12, 8)
        self.first, self.norm, self.second = nn.Linear(8, 8, bias=False), nn.BatchNorm1d(8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        mixed = self.second(torch.relu(self.norm(self.first(self.words(x)))))
        return F.linear(mixed, self.words.weight)


def optimizer(kind: str, *, compiled: bool = False, **options: Any) -> Step:
    """A step of an optimizer of the model, made when it is first seen."""

    def step(model: nn.Module) -> None:
        if "_step" not in vars(model):
            made = getattr(torch.optim, kind)(model.parameters(), lr=RATE, **options)
            vars(model)["_step"] = torch.compile(made.step, backend="aot_eager") if compiled else made.step
        vars(model)["_step"]()

    return step


def assigned(model: nn.Module) -> None:
    """New memory for each parameter."""
    for p in model.parameters():
        p.data = p.data - RATE * p.grad


def added(model: nn.Module) -> None:
    """In place, and no version counts it."""
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-RATE)


def collective(model: nn.Module) -> None:
    """What a group of one gathers goes into the parameter's memory."""
    for p in model.parameters():
        torch.distributed.all_gather([p.data], p.detach() - RATE * p.grad)


def loaded(model: nn.Module) -> None:
    """Other parameters in the place of the old ones, in the two modules that share one, too."""
    values = {name: p.detach() - RATE * p.grad for name, p in model.named_parameters()}
    model.load_state_dict(values, strict=False, assign=True)


def through_numpy(model: nn.Module) -> None:
    """Arrays of the parameters' memory."""
    for p in model.parameters():
        p.detach().numpy()[...] -= RATE * p.grad.numpy()


WAYS: dict[str, Step] = {
    "SGD, fused": optimizer("SGD", fused=True),
    "Adam, fused": optimizer("Adam", fused=True),
    "AdamW, fused": optimizer("AdamW", fused=True),
    "Adagrad, fused": optimizer("Adagrad", fused=True),
    "foreach": optimizer("AdamW", foreach=True),
    "a compiled step": optimizer("SGD", compiled=True),
    "p.data =": assigned,
    "p.data.add_": added,
    "a collective": collective,
    "load_state_dict, assign=True": loaded,
    "numpy": through_numpy,
}


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    """One process of gloo."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'group'}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def trained(model: nn.Module, run: Any, step: Step) -> list[Any]:
    """Losses of each step, and all parameters and buffers at the end."""
    x, y = torch.arange(6) * 2, torch.arange(6)
    losses: list[Any] = []
    for _ in range(STEPS):
        model.zero_grad()
        loss = F.cross_entropy(run(x), y)
        loss.backward()
        step(model)
        losses.append(loss.detach())
    return [torch.stack(losses), *[value.detach().clone() for value in model.state_dict().values()]]


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("way", WAYS)
def test_steps_are_those_of_pytorch(compiled: Compile, way: str) -> None:
    model, twin = Network(), Network()
    twin.load_state_dict(model.state_dict())
    found, wanted = trained(model, compiled(model), WAYS[way]), trained(twin, twin, WAYS[way])
    torch.testing.assert_close(found, wanted, rtol=TOLERANCE, atol=TOLERANCE)
    assert wanted[0][-1] < wanted[0][0]


def test_a_module_of_two_compiled_functions(compiled: Compile) -> None:
    """Each sees what the other's steps did, and evaluation what both did."""
    model = Network()
    twin = copy.deepcopy(model)
    x, y = torch.arange(6) * 2, torch.arange(6)

    def losses_of(of: nn.Module) -> tuple[Any, Any]:
        return lambda x, y: F.cross_entropy(of(x), y), lambda x, y: of(x).square().mean() + y.sum() * 0

    found: list[list[Any]] = []
    for of, wrap in ((model, compiled), (twin, lambda function: function)):
        one, two = map(wrap, losses_of(of))
        evaluate = wrap(lambda x, of=of: of(x))
        results: list[Any] = []
        for number in range(STEPS):
            of.train()
            of.zero_grad()
            loss = (two if number % 2 else one)(x, y)
            loss.backward()
            added(of)
            of.eval()
            with torch.no_grad():
                results += [loss.detach(), evaluate(x)]
        found.append(results)
    torch.testing.assert_close(*found, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("everywhere", [False, True])
def test_batch_norm_of_narrow_types(compiled: Compile, everywhere: bool) -> None:
    """Products give it bfloat16 under autocast; or all tensors are such."""
    found: list[list[Any]] = []
    for compile_ in (lambda function: function, compiled):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))
        x = torch.randn(16, 6)
        if everywhere:
            model, x = model.bfloat16(), x.bfloat16()
        with torch.autocast("cpu", torch.bfloat16, enabled=not everywhere, cache_enabled=False):
            loss = compile_(model)(x).float().square().mean()
        loss.backward()
        found.append([loss.detach(), *[p.grad.float() for p in model.parameters()], model[1].running_mean, model[1].running_var])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other.float(), one.float(), rtol=0.03, atol=0.01)

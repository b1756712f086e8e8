"""Functions of Python in a model give the same numbers and gradients where it is compiled, and errors that name them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from ttc.dialects.core.errors import Error

torch: Any = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")


def waves(x: Any, places: Any) -> Any:
    """Two results, one of integers."""
    return torch.sin(x) * places.sum(), places + 1


def by_numpy(x: Any) -> Any:
    """What PyTorch cannot differentiate."""
    return torch.from_numpy(np.sinh(x.detach().numpy()))


def refuses_large(x: Any) -> Any:
    if x.max() > 10:
        raise ValueError("too large")
    return x + 1


class Hosted(torch.nn.Module):
    """Two functions between layers; a plain one has the same in PyTorch alone."""

    def __init__(self, *, plain: bool = False) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.first, self.last = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
        self.waves = waves if plain else ttc.host(waves)
        self.sinh = torch.sinh if plain else ttc.host(by_numpy, backward=lambda x, dy: dy * torch.cosh(x))

    def forward(self, x: Any) -> Any:
        y, places = self.waves(self.first(x), torch.arange(3))
        return self.last(self.sinh(0.1 * y) * places.sum())


def rows(rng: np.random.Generator, width: int) -> Any:
    return torch.from_numpy(rng.standard_normal((3, width)).astype(np.float32))


@pytest.mark.parametrize("target", ["host", "n150"])
def test_numbers_and_gradients(target: str, rng: np.random.Generator) -> None:
    model, plain = Hosted(), Hosted(plain=True)
    x, y = rows(rng, 4), rows(rng, 2)
    with ttc.inference(model, target=target) as executor:
        torch.testing.assert_close(executor(x), plain(x), rtol=1e-5, atol=1e-5)
    torch.nn.functional.mse_loss(plain(x), y).backward()
    torch.nn.functional.mse_loss(model(x), y).backward()
    with ttc.training(model, loss="mse", target=target) as executor:
        executor.forward(x)
        executor.backward(y)
        found = executor.grads()
    for (name, eager), wanted in zip(model.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(eager.grad, wanted.grad, rtol=1e-5, atol=1e-5, msg=lambda text, name=name: f"{name} in PyTorch: {text}")
        torch.testing.assert_close(found[name], wanted.grad, rtol=1e-5, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}")


@dataclass
class Scale:
    """A function with a state, which has no hash: it is equal to others by value, and changes."""

    factor: float

    def __call__(self, x: Any) -> Any:
        return x * self.factor

    def half(self, x: Any) -> Any:
        return x * self.factor / 2


def test_objects_without_a_hash(rng: np.random.Generator) -> None:
    x, scales = rows(rng, 4), [Scale(3), Scale(3)]
    hosted = [ttc.host(scale) for scale in scales]
    scales[1].factor = 5
    assert [(function(x) / x).mean().round().item() for function in hosted] == [3, 5]
    torch.testing.assert_close(ttc.host(scales[0].half, backward=Scale(1))(x), x * 1.5)


def test_a_function_has_one_name() -> None:
    from ttc.train.hosted import _NAMES

    scale, known = Scale(2), []
    for function in (scale, scale, scale.half, scale.half, waves, waves):
        ttc.host(function)
        known.append(len(_NAMES))
    assert known[0] == known[1] < known[2] == known[3]
    assert known[4] == known[5]


def test_stages_of_a_pipeline(rng: np.random.Generator) -> None:
    class Marked(Hosted):
        def forward(self, x: Any) -> Any:
            y = self.first(x)
            ttc.stage(1).start()
            y, places = self.waves(y, torch.arange(3))
            ttc.stage(2).start()
            return self.last(self.sinh(0.1 * y) * places.sum())

    model, plain = Marked(), Hosted(plain=True)
    x, y = rows(rng, 4), rows(rng, 2)
    with ttc.Pipeline(model, devices=["host", "cpu", "host"], loss="mse") as pipeline:
        pipeline.push(x)
        pipeline.push_target(y)
        pipeline.forward()
        pipeline.backward()
        found = {name: value for part in pipeline.gradients().values() for name, value in part.items()}
    torch.nn.functional.mse_loss(plain(x), y).backward()
    for name, parameter in plain.named_parameters():
        np.testing.assert_allclose(found[name], parameter.grad.numpy(), rtol=1e-5, atol=1e-5)


class Refusing(torch.nn.Module):
    """A function that does not take large numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.call = ttc.host(refuses_large)

    def forward(self, x: Any) -> Any:
        return self.call(x.exp()).neg()


def test_an_error_names_the_function_and_the_place() -> None:
    with ttc.inference(Refusing(), target="host") as executor:
        torch.testing.assert_close(executor(torch.zeros(2, 2)), torch.full((2, 2), -2.0))
        with pytest.raises(Error, match="refuses_large.* failed: ValueError: too large") as raised:
            executor(torch.full((2, 2), 5.0))
    assert raised.value.code == "E0815"
    assert "test_hosted.py:" in str(raised.value.where)


class Choosing(torch.nn.Module):
    """A function inside of a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.function = ttc.host(refuses_large)

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda y: self.function(y) * 2, lambda y: y.reshape(-1).reshape(2, 2) - 1, (x,))


class Deriving(torch.nn.Module):
    """A function of a weight alone, called at every run."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 2))
        self.function = ttc.host(counted)

    def forward(self, x: Any) -> Any:
        return x + self.function(self.weight) + self.function(self.weight)


CALLS: list[int] = []


def counted(x: Any) -> Any:
    CALLS.append(1)
    return x + 1


@pytest.mark.parametrize("model", [Refusing, Choosing, Deriving])
def test_archives_hold_none(model: Any, tmp_path: Path) -> None:
    program = ttc.compile(model(), (torch.zeros(2, 2),), target="host")
    with pytest.raises(Error, match="calls the function '.*#.*' of Python, which no archive can hold") as raised:
        program.save(tmp_path / "model.tti")
    assert raised.value.code == "E0103"
    assert not list(tmp_path.iterdir())


def test_a_function_of_constants_is_called_at_each_run() -> None:
    """Compiling does not compute it once for all; equal calls are one."""
    with ttc.inference(Deriving(), target="host") as executor:
        executor(torch.zeros(2, 2))
        CALLS.clear()
        for _ in range(3):
            torch.testing.assert_close(executor(torch.zeros(2, 2)), torch.full((2, 2), 4.0))
    assert len(CALLS) == 3


def test_an_archive_that_calls_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ttc.compile(Refusing(), (torch.zeros(2, 2),), target="host")
    with monkeypatch.context() as patches:
        patches.setattr("ttc.runtime.archive.called_function", lambda *_: None)
        program.save(tmp_path / "model.tti")
    with pytest.raises(Error, match="calls a function of Python, which no archive may") as raised:
        ttc.load(tmp_path / "model.tti")
    assert raised.value.code == "E0703"


@pytest.mark.parametrize(("function", "backward"), [(3, None), (torch.sin, 3)])
def test_what_is_no_function(function: Any, backward: Any) -> None:
    with pytest.raises(Error, match="is no function that a model could call"):
        ttc.host(function, backward)

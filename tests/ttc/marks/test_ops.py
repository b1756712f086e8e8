"""Marks in models of PyTorch: the same in PyTorch itself, and in what is compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from tests.draws import rng_of_test
from ttc.dialects.core.errors import Error

torch = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
HOST = {"target": "host", "threads": 1}


class Probed(torch.nn.Module):
    """One value that is read, and one that nothing reads; a loss of a loss, and a second one."""

    def __init__(self, sink: Any) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.first, self.second = torch.nn.Linear(4, 5), torch.nn.Linear(5, 3)
        self.sink = sink

    def forward(self, x: Any, target: Any) -> Any:
        hidden = ttc.probe(self.first(x), "hidden", sink=self.sink)
        ttc.probe(hidden * 2, "unread", sink=self.sink)
        y = self.second(torch.relu(hidden))
        each = ttc.mark_loss((y - target) ** 2)
        ttc.mark_loss(each, "mean")
        ttc.mark_loss(y.abs(), "sum")
        return y


def expected_loss(y: Any, target: Any) -> Any:
    return ((y - target) ** 2).mean() + y.abs().sum()


def drawn(*shape: int) -> Any:
    return torch.from_numpy(rng_of_test().standard_normal(shape).astype(np.float32))


def test_probes_and_losses_of_a_compiled_model_are_those_of_pytorch() -> None:
    seen: list[Any] = []
    model = Probed(seen.append)
    x, target = drawn(6, 4), drawn(6, 3)
    expected = {}
    for number, (a, b) in enumerate(zip(x.chunk(2), target.chunk(2), strict=True)):
        seen.clear()
        y = model(a, b)
        expected_loss(y, b).backward()
        expected |= {(reading.name, number): reading.value for reading in seen}
    whole = [expected_loss(model(a, b), b) for a, b in zip(x.chunk(2), target.chunk(2), strict=True)]
    for options in ({"accumulate": 2}, {"replicas": 2}):
        seen.clear()
        with ttc.training(model, loss="marked", optimizer="sgd:lr=0.0", **HOST, **options) as executor:
            outputs, loss = executor(x, target)
        assert outputs.shape == (6, 3)
        torch.testing.assert_close(loss, torch.stack(whole).sum().detach() / 2, rtol=1e-5, atol=1e-5)
        found = {(r.name, r.microbatch if "accumulate" in options else r.replica): r for r in seen}
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            np.testing.assert_allclose(found[key].value, value, rtol=1e-4, atol=1e-5)


def test_gradients_of_marked_losses_in_pytorch() -> None:
    model, x = Probed(lambda _: None), drawn(6, 4)
    for reduction, function in (("none", lambda v: v.sum()), ("mean", torch.mean), ("sum", torch.sum)):
        values = model.first(x), model.first(x)
        marked = ttc.mark_loss(values[0] ** 2, reduction)
        found = torch.autograd.grad(marked.sum(), model.first.weight)[0]
        torch.testing.assert_close(found, torch.autograd.grad(function(values[1] ** 2), model.first.weight)[0])
        assert marked.numel() == (30 if reduction == "none" else 1)


def test_inference_shows_values_and_gives_outputs_alone() -> None:
    seen: list[Any] = []
    model, x, target = Probed(seen.append), drawn(6, 4), drawn(6, 3)
    with ttc.inference(model, iterations=3, **HOST) as executor:
        found = executor(x, target)
        torch.testing.assert_close(found, model(x, target), rtol=1e-5, atol=1e-5)
    assert [(r.name, r.microbatch) for r in seen[:6]] == [(name, i) for i in range(3) for name in ("hidden", "unread")]


class One(torch.nn.Module):
    """A model of one function."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function, self.scale = function, torch.nn.Parameter(torch.ones(()))

    def forward(self, x: Any) -> Any:
        return self.function(x * self.scale)


def test_a_file_and_bad_values_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.txt"
    model = One(lambda x: ttc.probe(ttc.probe(x, "file", sink=path).log(), "bad", only_bad=True))
    with ttc.inference(model, iterations=2, **HOST) as executor:
        executor(torch.tensor([1.0, -1.0]))
    assert path.read_text().splitlines()[::2] == [f"file: float32[1], microbatch {i}, replica 0" for i in range(2)]
    assert capfd.readouterr().err.splitlines()[0] == "bad: float32[1], microbatch 1, replica 0, 1 NaN"


def test_printing_goes_to_the_standard_error_output(capfd: pytest.CaptureFixture[str]) -> None:
    x = torch.tensor([[1.4962566, 1.7682219]], requires_grad=True)
    ttc.probe(x, "x").sum().backward()
    err = capfd.readouterr().err
    assert all(text in err for text in ("1.4962566", "1.7682219", "x_gradient: float32[1, 2]"))


def test_probes_of_one_name_are_numbered() -> None:
    seen: list[Any] = []
    with ttc.inference(One(lambda x: ttc.probe(ttc.probe(x, "x", sink=seen.append) + 1, "x", sink=seen.append)), **HOST) as executor:
        executor(torch.zeros(2))
    assert [(r.name, r.value[0]) for r in seen] == [("x", 0), ("x.1", 1)]


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda x: ttc.probe(x, ""), "E0101"),
        (lambda x: ttc.probe(x, "a#1"), "E0101"),
        (lambda x: ttc.probe(x, "a", sink=3), "E0101"),
        (lambda x: ttc.mark_loss(x, "max"), "E0101"),
    ],
)
def test_what_cannot_be(function: Callable[[Any], Any], code: str) -> None:
    with pytest.raises(Error) as raised:
        function(torch.zeros(2))
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("function", "message"),
    [(lambda x: x.sum(), "no loss is marked"), (lambda x: ttc.mark_loss(x), r"has shape \[2\], and is no number")],
)
def test_losses_that_are_missing_or_no_numbers(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(Error, match=message), ttc.training(One(function), loss="marked", optimizer="sgd", **HOST) as executor:
        executor(torch.zeros(2))

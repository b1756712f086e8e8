"""Gradients of whole networks, exported by PyTorch in float64, against PyTorch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ttc.accuracy.module_values import evaluate
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.netlist.to_model import to_model
from ttc.passes.base import Unit
from ttc.passes.emit import package_of
from ttc.passes.manager import run_passes
from ttc.passes.nn.differentiate import BACKWARD, JOINT, Differentiate
from ttc.passes.pipeline import PipelineSettings, gradient_steps, stages
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.executor import Executor
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program
from ttc.runtime.tensors import Constants

torch: Any = pytest.importorskip("torch", reason="networks are exported by PyTorch")
nn, functional = torch.nn, torch.nn.functional

BOUND = 1e-6
"""Of the relative L2 error."""


def mlp() -> tuple[Any, Any]:
    layers = nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 5), nn.LogSoftmax(-1)
    return nn.Sequential(*layers), torch.randn(6, 12)


def cnn() -> tuple[Any, Any]:
    network = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)),
        *(nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=2), nn.BatchNorm2d(8), nn.SiLU(), nn.AvgPool2d(2)),
        *(nn.ConvTranspose2d(8, 4, 3, stride=2, output_padding=1), nn.Upsample(scale_factor=2), nn.Tanh()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5)),
    ).eval()
    for layer in network:
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.running_mean)
            nn.init.uniform_(layer.running_var, 0.5, 2)
    return network, torch.randn(2, 3, 16, 16)


class Layer(nn.Module):
    """A layer of a transformer before which rows are normalized, with a causal mask, over embedded words."""

    def __init__(self, words: int = 11, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.words, self.heads = nn.Embedding(words, width), heads
        self.first, self.second = nn.LayerNorm(width), nn.RMSNorm(width, eps=1e-6)
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, ids: Any) -> Any:
        x = self.words(ids)
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.into(self.first(x)).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(-2))
        x = x + self.narrow(functional.gelu(self.wide(self.second(x)), approximate="tanh"))
        return x @ self.words.weight.T


def transformer() -> tuple[Any, Any]:
    return Layer(), torch.randint(0, 11, (2, 7))


def recurrent() -> tuple[Any, Any]:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.gru = nn.LSTM(4, 6, bidirectional=True), nn.GRU(12, 5)

        def forward(self, x: Any) -> Any:
            return self.gru(self.lstm(x)[0])[0]

    return Recurrent(), torch.randn(5, 3, 4)


NETWORKS: list[Callable[[], tuple[Any, Any]]] = [mlp, cnn, transformer, recurrent]


def imported(network: Any, example: Any) -> Unit:
    from ttc.importers.torch.exported import import_module

    module, weights = import_module(network, (example,))
    return Unit(module, weights, load_target("host"))


def expected(network: Any, example: Any, cotangent: Any) -> dict[str, np.ndarray]:
    """PyTorch's gradients by name of the parameter, and `x` for the input."""
    given = example.clone().requires_grad_(example.is_floating_point())
    (network(given) * cotangent).sum().backward()
    found = {name: parameter.grad.numpy() for name, parameter in network.named_parameters()}
    return found | ({"x": given.grad.numpy()} if given.grad is not None else {})


@pytest.mark.parametrize("form", ["joint", "separate", "recompute"])
@pytest.mark.parametrize("build", NETWORKS)
def test_gradients_agree_with_pytorch(build: Callable[[], tuple[Any, Any]], form: str, rng: np.random.Generator) -> None:
    network, example = build()
    network = network.double()
    example = example.double() if example.is_floating_point() else example
    unit = imported(network, example)
    function: Any
    (function,) = entry_functions(unit.module)
    (name,) = [port.data["ttc.name"].data for port in function.arg_attrs.data]
    inputs = (name,) if example.is_floating_point() else ()
    run_passes(gradient_steps(Differentiate(form=form, inputs=inputs)), unit)
    verify(unit.module)
    with torch.no_grad():
        shape = network(example).shape
    cotangent = rng.standard_normal(shape)
    found = gradients(unit, {name: example.numpy()}, cotangent)
    wanted = expected(network, example, torch.tensor(cotangent))
    for key, value in wanted.items():
        mine = found[f"grad.{name if key == 'x' else key}"]
        assert np.linalg.norm(mine - value) <= BOUND * np.linalg.norm(value), key
    assert len(found) == len(wanted)


def gradients(unit: Unit, inputs: dict[str, np.ndarray], cotangent: np.ndarray) -> dict[str, np.ndarray]:
    """What the entry that gives gradients gives, with the values that forward saved for it."""
    functions: dict[str, Any] = {function.sym_name.data: function for function in entry_functions(unit.module)}
    (result,) = [port.data["ttc.name"].data for port in functions["forward"].res_attrs.data][:1]
    given = {**inputs, f"grad.{result}": cotangent}
    backward = functions.pop(BACKWARD, None)
    if backward is not None:
        backward.detach()
        saved = evaluate(unit, {"forward": inputs})["forward"]
        unit.module.body.block.add_op(backward)
        functions["forward"].detach()
        given |= {key: value for key, value in saved.items() if key.startswith("saved.")}
        name = BACKWARD
    else:
        functions["forward"].detach()
        name = JOINT
    found = evaluate(unit, {name: given})[name]
    return {key: value for key, value in found.items() if key.startswith("grad.")}


def compiled(unit: Unit) -> Program:
    """The module taken through all stages, for the native engine."""
    for passes in stages(unit.target, PipelineSettings(gradients=Differentiate())).values():
        run_passes(passes, unit)
    package = package_of(unit, to_model(unit.module), "test")
    constants, netlists = Constants(package.tensors), Netlists(lambda: package.netlist, package.description)
    return Program(netlists, package.description, constants, Plans(NativeEngine(), netlists, constants))


@pytest.mark.parametrize("build", NETWORKS)
def test_native_gradients_agree_with_pytorch_in_float32(build: Callable[[], tuple[Any, Any]], rng: np.random.Generator) -> None:
    """The entry that gives gradients goes through all stages; float32 rounds."""
    network, example = build()
    unit = imported(network, example)
    function: Any
    (function,) = entry_functions(unit.module)
    (name,), (result, *_) = ([port.name for port in side] for side in ports(function))
    with torch.no_grad():
        cotangent = rng.standard_normal(network(example).shape).astype(np.float32)
    with Executor(compiled(unit)) as executor:
        found = executor.run({name: example.numpy(), f"grad.{result}": cotangent}, JOINT)
    wanted = expected(network, example, torch.tensor(cotangent))
    errors = {key: np.linalg.norm(found[f"grad.{key}"] - value) / np.linalg.norm(value) for key, value in wanted.items() if key != "x"}
    assert max(errors.values()) <= 1e-5


@pytest.mark.parametrize("build", NETWORKS)
def test_ops_of_gradients_are_located_at_what_they_are_those_of(build: Callable[[], tuple[Any, Any]]) -> None:
    unit = imported(*build())
    run_passes([Differentiate()], unit)
    before, after = (list(f.body.block.ops) for f in entry_functions(unit.module))
    sources = {name for op in before for name in source_names(op.location)}
    made = after[len(before) - 1 : -1]
    assert made
    for op in made:
        first, *rest = source_names(op.location)
        assert first.startswith("grad.")
        assert {first.removeprefix("grad."), *rest} <= sources | {"forward"}

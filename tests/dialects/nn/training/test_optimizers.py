"""Optimizers against PyTorch's, over several steps in float64; LAMB and LARS, which it lacks, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.dialects.nn.training.computing import computed
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.formulas import Formula
from ttc.dialects.nn.training.optimizers import (
    LAMB,
    LARS,
    OPTIMIZERS,
    SGD,
    Adagrad,
    Adam,
    AdamW,
    Optimizer,
    ParameterUpdate,
    RMSprop,
    optimizer_of_text,
)

STEPS = 5


def updates(optimizer: Optimizer, parameter: NDArray, gradients: list[NDArray]) -> NDArray:
    """The parameter after some steps; numbers come in as arguments, as they do in training programs."""
    numbers, slots = optimizer.numbers(), optimizer.slots()
    states = {slot: np.full(parameter.shape, start) for slot, start in slots.items()}
    names = list(numbers)

    def make(b: Any, values: Any) -> list[Any]:
        p, g, step, *rest = (Formula(b, v) for v in values)
        given = dict(zip(names, rest, strict=False))
        held = dict(zip(slots, rest[len(names) :], strict=True))
        new, changed = optimizer.updated(ParameterUpdate(p, g, given, held, step, optimizer))
        assert changed.keys() == slots.keys()
        return [new.value, *(changed[slot].value for slot in slots)]

    for index, gradient in enumerate(gradients):
        given = [np.array(numbers[name]) for name in names]
        parameter, *found = computed(make, [parameter, gradient, np.array(index + 1.0), *given, *states.values()])
        states = dict(zip(slots, found, strict=True))
    return parameter


CASES: list[tuple[Optimizer, str, dict[str, Any]]] = [
    (SGD(0.1), "SGD", {"lr": 0.1}),
    (SGD(0.1, 0.9), "SGD", {"lr": 0.1, "momentum": 0.9}),
    (SGD(0.1, 0.9, 0.3, 0.01), "SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    (SGD(0.1, 0.9, nesterov=True, maximize=True), "SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    (Adam(), "Adam", {}),
    (Adam(0.01, 0.8, 0.9, 1e-6, 0.1), "Adam", {"lr": 0.01, "betas": (0.8, 0.9), "eps": 1e-6, "weight_decay": 0.1}),
    (Adam(0.01, amsgrad=True), "Adam", {"lr": 0.01, "amsgrad": True}),
    (AdamW(), "AdamW", {}),
    (AdamW(0.02, weight_decay=0.3, amsgrad=True), "AdamW", {"lr": 0.02, "weight_decay": 0.3, "amsgrad": True}),
    (AdamW(0.02, weight_decay=0.0, maximize=True), "AdamW", {"lr": 0.02, "weight_decay": 0.0, "maximize": True}),
    (RMSprop(), "RMSprop", {}),
    (
        RMSprop(0.01, 0.9, 1e-6, 0.1, 0.5, centered=True),
        "RMSprop",
        {"lr": 0.01, "alpha": 0.9, "eps": 1e-6, "weight_decay": 0.1, "momentum": 0.5, "centered": True},
    ),
    (Adagrad(), "Adagrad", {}),
    (
        Adagrad(0.1, 0.2, 0.1, 1e-8, 0.5),
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1, "eps": 1e-8, "initial_accumulator_value": 0.5},
    ),
]


@pytest.mark.parametrize(("optimizer", "name", "settings"), CASES, ids=lambda x: x.text if isinstance(x, Optimizer) else "")
def test_agrees_with_pytorch(optimizer: Optimizer, name: str, settings: dict[str, Any], rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch", reason="optimizers are compared with PyTorch's")
    start, gradients = rng.standard_normal((3, 4)), list(rng.standard_normal((STEPS, 3, 4)))
    parameter = torch.nn.Parameter(torch.tensor(start))
    reference = getattr(torch.optim, name)([parameter], **settings)
    for gradient in gradients:
        parameter.grad = torch.tensor(gradient)
        reference.step()
    np.testing.assert_allclose(updates(optimizer, start, gradients), parameter.detach().numpy(), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_defaults_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="defaults are compared with PyTorch's")
    kind = next((k for k in vars(torch.optim).values() if isinstance(k, type) and k.__name__.lower() == name), None)
    if kind is None:
        assert name in ("lamb", "lars")
        return
    defaults = kind([torch.nn.Parameter(torch.zeros(1))]).defaults
    betas = dict(zip(("beta1", "beta2"), defaults.get("betas", ()), strict=False))
    made = OPTIMIZERS[name]()
    given = {item.name: getattr(made, item.name) for item in fields(cast("Any", made))}
    assert given == {key: {**defaults, **betas}[key] for key in given}


def lamb(o: LAMB, p: NDArray, gradients: list[NDArray]) -> NDArray:
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        m, v = o.beta1 * m + (1 - o.beta1) * g, o.beta2 * v + (1 - o.beta2) * g * g
        first, second = (1 - o.beta1**t, 1 - o.beta2**t) if o.bias_correction else (1, 1)
        r = m / first / (np.sqrt(v / second) + o.eps) + o.weight_decay * p
        size, step = min(np.linalg.norm(p), o.clip), np.linalg.norm(r)
        p = p - o.lr * (size / step if size and step else 1) * r
    return p


def lars(o: LARS, p: NDArray, gradients: list[NDArray]) -> NDArray:
    buffer = None
    for g in gradients:
        size, slope = np.linalg.norm(p), np.linalg.norm(g)
        trust = o.coefficient * size / (slope + o.weight_decay * size + o.eps) if size and slope else 1
        step = trust * (g + o.weight_decay * p)
        buffer = step if buffer is None else o.momentum * buffer + (1 - o.dampening) * step
        p = p - o.lr * (step + o.momentum * buffer if o.nesterov else buffer)
    return p


@pytest.mark.parametrize(
    ("optimizer", "reference"),
    [
        (LAMB(0.1), lamb),
        (LAMB(0.1, weight_decay=0.0, clip=1.0, bias_correction=False), lamb),
        (LARS(2.0), lars),
        (LARS(2.0, dampening=0.5), lars),
        (LARS(2.0, weight_decay=0.0, nesterov=True), lars),
    ],
    ids=lambda x: x.text if isinstance(x, Optimizer) else "",
)
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_layerwise(optimizer: Any, reference: Callable[..., NDArray], start: float, rng: np.random.Generator) -> None:
    """Trust is 1 where the parameter is 0 at first."""
    parameter, gradients = start * rng.standard_normal((3, 4)), list(rng.standard_normal((STEPS, 3, 4)))
    np.testing.assert_allclose(updates(optimizer, parameter, gradients), reference(optimizer, parameter, gradients), rtol=1e-11, atol=1e-14)


def test_numbers_come_in_unless_they_switch_a_part_off() -> None:
    assert SGD(0.1).numbers() == {"lr": 0.1}
    assert SGD(0.1, 0.9).numbers() == {"lr": 0.1, "momentum": 0.9}
    assert AdamW().numbers() == {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 1e-2}
    assert SGD(0.0).numbers() == {"lr": 0.0}
    assert SGD(0.1).slots() == {}
    assert Adagrad(initial_accumulator_value=0.5).slots() == {"sum": 0.5}


def test_groups_of_one_structure() -> None:
    assert Adam(0.1).structure() == Adam(0.2, weight_decay=0.1).structure()
    assert Adam().structure() != AdamW().structure()
    assert Adam().structure() != Adam(amsgrad=True).structure()


def test_optimizers_are_text() -> None:
    assert AdamW(3e-4, weight_decay=0.1).text == "adamw:lr=0.0003,weight_decay=0.1"
    assert all(optimizer_of_text(name).text == name for name in OPTIMIZERS)
    assert optimizer_of_text("sgd:lr=1e-1,momentum=0.9,nesterov=true") == SGD(0.1, 0.9, nesterov=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("adamx", "there is no optimizer 'adamx'"),
        ("sgd:beta1=0.9", "optimizer sgd has no setting 'beta1'"),
        ("sgd:lr=-1", "optimizer sgd: lr cannot be -1"),
        ("sgd:lr=inf", "optimizer sgd: lr cannot be 'inf'"),
        ("adam:beta2=1", "optimizer adam: beta2 cannot be 1"),
        ("sgd:nesterov=true", "optimizer sgd: nesterov needs momentum, and no dampening"),
        ("lars:nesterov=true,dampening=0.1", "optimizer sgd: nesterov needs momentum, and no dampening"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(Error) as caught:
        optimizer_of_text(text)
    assert (caught.value.code, caught.value.message) == ("E0101", message)

"""Optimizers that users give: records, text, and instances of torch.optim with groups of parameters and state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.optim import SGD, AdamW, groups_of, states_of

torch: Any = pytest.importorskip("torch", reason="instances of torch.optim are read")
nn, optim = torch.nn, torch.optim


def network() -> Any:
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))


def test_records_and_text() -> None:
    assert groups_of("adamw:lr=0.1") == groups_of(AdamW(0.1)) == (("adamw:lr=0.1",),)


def test_parameters_without_gradients_are_left_out() -> None:
    model = network()
    model[0].weight.requires_grad_(False)
    assert groups_of("sgd", model) == (("sgd", "0.bias", "1.weight", "1.bias"),)


def test_groups_of_parameters() -> None:
    model = network()
    theirs = optim.SGD([{"params": model[1].parameters(), "lr": 0.5}, {"params": [model[0].bias]}], lr=torch.tensor(0.25), momentum=0.5)
    assert groups_of(theirs, model) == (("sgd:lr=0.5,momentum=0.5", "1.weight", "1.bias"), ("sgd:lr=0.25,momentum=0.5", "0.bias"))
    model[0].bias.requires_grad_(False)
    assert groups_of(theirs, model)[1] == ("sgd:lr=0.25,momentum=0.5", "")


KINDS = [
    (optim.Adam, {"betas": (0.8, 0.9), "amsgrad": True}, "adam:beta1=0.8,beta2=0.9,amsgrad=true"),
    (optim.AdamW, {"weight_decay": 0.5}, "adamw:weight_decay=0.5"),
    (optim.RMSprop, {"centered": True}, "rmsprop:centered=true"),
    (optim.Adagrad, {"lr_decay": 0.5}, "adagrad:lr_decay=0.5"),
]


@pytest.mark.parametrize(("kind", "settings", "text"), KINDS, ids=lambda x: x if isinstance(x, str) else "")
def test_instances_are_recognised(kind: Any, settings: dict[str, Any], text: str) -> None:
    model = network()
    assert groups_of(kind(model.parameters(), **settings), model)[0][0] == text


def test_what_is_refused() -> None:
    model = network()
    with pytest.raises(Error) as caught:
        groups_of(optim.SGD(network().parameters(), lr=0.1), model)
    assert (caught.value.code, caught.value.message[:52]) == ("E0206", "the optimizer has 4 parameters that are not the mode")
    for other in (optim.LBFGS(model.parameters()), 3, "adamx"):
        with pytest.raises(Error) as caught:
            groups_of(other, model)
        assert caught.value.code == "E0101"


@pytest.mark.parametrize("kind", [optim.AdamW, lambda p: optim.SGD(p, lr=0.1, momentum=0.9)])
def test_state_is_read(kind: Any) -> None:
    model = network()
    theirs = kind(model.parameters())
    assert states_of(theirs, model) == {}
    model(torch.ones(2, 2)).sum().backward()
    theirs.step()
    found = states_of(theirs, model)
    assert found["optimizer.step"] == 1
    slots = {name.split(".")[1] for name in found} - {"step"}
    assert slots == ({"exp_avg", "exp_avg_sq"} if isinstance(theirs, optim.AdamW) else {"momentum_buffer"})
    for slot in slots:
        expected = theirs.state[model[1].weight][slot].numpy()
        np.testing.assert_array_equal(found[f"optimizer.{slot}.1.weight"], expected)
    assert SGD(0.1).numbers() == {"lr": 0.1}

"""Keywords of `ttc.compile` that make training programs."""

from __future__ import annotations

from typing import Any

import pytest

import ttc
from ttc.compiler.training_keywords import in_mode, training_of
from ttc.dialects.core.errors import Error

torch: Any = pytest.importorskip("torch", reason="modules of PyTorch have modes")


def test_keywords_are_taken_out() -> None:
    fields: dict[str, Any] = {"loss": "mse", "optimizer": "sgd", "target": "host", "clip_norm": None}
    found = training_of("model.onnx", fields)
    assert fields == {"target": "host"}
    assert found is not None
    assert (found.loss, found.groups, found.batch_norm) == ("mse", (("sgd",),), "batch")
    assert training_of("model.onnx", {"target": "host"}) is None
    assert training_of("model.onnx", {"training": False}) is None


def test_batch_norms_follow_the_mode() -> None:
    module = torch.nn.Linear(1, 1)
    for model, fields, wanted in (
        (module, {}, "given"),
        (module, {"training": True}, "batch"),
        (module, {"batch_norm": "batch"}, "batch"),
        ("model.onnx", {"training": False}, "given"),
    ):
        found = training_of(model, {"loss": "mse", **fields})
        assert found is not None
        assert found.batch_norm == wanted


def test_modes_are_given_back() -> None:
    model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(1, 1))
    model[1].eval()
    with in_mode(model, training=False):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [True, True, False]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"optimizer": "sgd"}, "E0101"),
        ({"loss": "mes", "optimizer": "sgd"}, "E0101"),
        ({"loss": "mse", "optimizer": "adamx"}, "E0101"),
        ({"loss": "mse", "optimizer": torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1)}, "E0206"),
        ({"loss": "nll:axis=3", "optimizer": "sgd"}, "E0412"),
    ],
)
def test_bad_input_is_one_error(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(Error) as caught:
        ttc.compile(torch.nn.Linear(2, 2), (torch.ones(3, 2),), target="host", **fields)
    assert caught.value.code == code

"""What executors over stages refuse."""

from __future__ import annotations

from typing import Any

import pytest

import ttc

torch: Any = pytest.importorskip("torch", reason="stages are modules of PyTorch")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": None}, "does not take loss=None"),
        ({"loss": "marked"}, "does not take loss='marked'"),
        ({"reduction": "sum"}, "does not take reduction='sum'"),
        ({"devices": ["host", "cpu"]}, "does not take device 'cpu'"),
        ({"example_inputs": (1,)}, "does not take example_inputs"),
        ({"devices": None, "plan": {"0": 0}}, "a plan says which stages run on which devices"),
        ({"loss_scale": 8.0}, "loss_scale"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    with pytest.raises(ttc.Error, match=message) as caught:
        ttc.training(model, **{"loss": "mse", "optimizer": "sgd", "devices": ["host", "host"], **options})(
            torch.ones(1, 2), torch.ones(1, 2)
        )
    assert caught.value.code == "E0101"


def test_as_many_devices_as_stages() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    with pytest.raises(ttc.Error, match="cut into 2 stages, and there are 3 devices"):
        ttc.training(model, loss="mse", devices=["host"] * 3, plan={"1": 1})(torch.ones(1, 2), torch.ones(1, 2))

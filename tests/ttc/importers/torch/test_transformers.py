"""Networks of `transformers`, two layers each: compiled, they agree with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
pytest.importorskip("transformers", reason="transformers is installed where PyTorch is")

import ttc  # noqa: E402
from tests.ttc.importers.torch.networks import NETWORKS  # noqa: E402
from ttc.dialects.core.functions import entry_functions  # noqa: E402
from ttc.dialects.core.locations import source_names  # noqa: E402
from ttc.importers.torch import import_module  # noqa: E402

BOUND = 1e-4
"""Of max |a - b| <= BOUND * max(1, max |b|)."""
ON_DEVICE = ("bert", "llama", "resnet")


def agrees(name: str, target: str) -> None:
    network, inputs = NETWORKS[name]()
    with torch.no_grad():
        expected = {key: value for key, value in network(**inputs).items() if isinstance(value, torch.Tensor)}
    executor = ttc.Executor(ttc.compile(network, inputs, target=target))
    found = executor.run({key: value.numpy() for key, value in inputs.items()})
    assert list(found) == list(expected)
    for key, theirs in expected.items():
        assert found[key].shape == tuple(theirs.shape)
        assert float(theirs.abs().max()) > 1e-3
        difference = np.abs(found[key] - theirs.numpy()).max()
        assert difference <= BOUND * max(1, float(theirs.abs().max())), f"{key}: {difference}"


@pytest.mark.parametrize("name", NETWORKS)
def test_agrees_on_the_host(name: str) -> None:
    agrees(name, "host")


@pytest.mark.parametrize("name", ON_DEVICE)
def test_agrees_on_a_device(name: str) -> None:
    agrees(name, "n150")


def test_lifted_names_and_places_are_those_of_the_library() -> None:
    network, inputs = NETWORKS["bert"]()
    module, weights = import_module(network, inputs)
    own = {name for name, _ in network.named_parameters()}
    assert own <= {*weights, "embeddings.position_ids"}
    places: set[Any] = {source_names(op.location)[1:] for op in entry_functions(module)[0].walk() if op.name == "nn.attention"}
    assert {path for path, _ in places} == {"encoder.layer.0.attention.self", "encoder.layer.1.attention.self"}

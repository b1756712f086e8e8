"""Networks of `transformers`, two layers each: compiled, they agree with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
pytest.importorskip("transformers", reason="transformers is installed where PyTorch is")

import ttc  # noqa: E402
from tests.ttc.importers.torch.networks import NETWORKS  # noqa: E402
from ttc.dialects.core.ir.entries import entry_functions  # noqa: E402
from ttc.dialects.core.ir.locations import source_names  # noqa: E402
from ttc.importers.torch import import_module  # noqa: E402

executorch = pytest.importorskip("transformers.integrations.executorch", reason="transformers that exports with caches")

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


def test_a_cache_of_fixed_length_is_states() -> None:
    network, _ = NETWORKS["llama"]()
    network.generation_config.update(use_cache=True, cache_implementation="static")
    step = executorch.TorchExportableModuleWithStaticCache(network, batch_size=1, max_cache_len=4).eval()
    tokens = torch.tensor([[5, 9, 3]])
    first = {"input_ids": tokens[:, :1], "cache_position": torch.tensor([0])}
    with ttc.Executor(ttc.compile(step, first, target="host")) as executor:
        found = [executor(tokens[:, i : i + 1].numpy(), np.array([i]))[0] for i in range(3)]
        assert {"key_cache_0", "value_cache_1"} <= executor.states().keys()
    with torch.no_grad():
        expected = network(tokens).logits.numpy()
    np.testing.assert_allclose(np.concatenate(found, 1), expected, atol=BOUND)

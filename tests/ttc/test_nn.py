"""Models by hand: parameters, submodules, traces, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttc
from ttc import ops
from ttc.dialects.core.ir.locations import source_names
from ttc.ops.importing import import_object

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


class Linear(ttc.nn.Module):
    def __init__(self, rows: int, columns: int, rng: np.random.Generator) -> None:
        super().__init__("linear")
        self.weight = ttc.nn.Parameter(rng.standard_normal((rows, columns)).astype(np.float32))
        self.bias = ttc.nn.Parameter(columns)

    def forward(self, x: ttc.nn.Tensor) -> ttc.nn.Tensor:
        return ops.matmul(x, self.weight, self.bias, name="product")


class Network(ttc.nn.Module):
    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__("network")
        self.layers = [Linear(4, 5, rng), Linear(5, 4, rng)]
        self.tied = self.layers[0].weight
        self.shift: Any
        self.add_constant("shift", np.float32(0.5))
        self.calls = 0

    def pre_forward(self, *args: Any, **kwargs: Any) -> None:
        self.calls += 1

    def forward(self, x: ttc.nn.Tensor) -> dict[str, ttc.nn.Tensor]:
        hidden = ops.relu(self.layers[0](x)) + self.shift
        return {"y": self.layers[1](hidden), "tied": ops.matmul(hidden, self.tied, transpose_b=True)}


def by_hand(run: Callable[..., Any], *parameters: ttc.nn.Parameter) -> ttc.nn.Module:
    """A module whose forward is a function."""

    class Of(ttc.nn.Module):
        def __init__(self) -> None:
            super().__init__("of")
            self.weights = list(parameters)

        def forward(self, x: ttc.nn.Tensor) -> Any:
            return run(x)

    return Of()


def test_a_model_of_parts_has_the_values_of_numpy(rng: np.random.Generator) -> None:
    network = Network(rng)
    found = ttc.Executor(ttc.compile(network, {"x": X}, target="host")).run({"x": X})
    first, second = (layer.weight.value for layer in network.layers)
    hidden = np.maximum(X @ first, 0) + 0.5
    np.testing.assert_allclose(found["y"], hidden @ second, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["tied"], hidden @ first.T, rtol=1e-5, atol=1e-5)
    assert network.calls == 1


def test_names_are_paths_and_a_shared_parameter_is_one(rng: np.random.Generator) -> None:
    network = Network(rng)
    assert [name for name, _ in network.named_parameters()] == [
        *("tied", "shift", "layers.0.bias", "layers.1.weight", "layers.1.bias"),
    ]
    assert "layers.0.weight" in dict(network.named_parameters(remove_duplicate=False))
    module, weights = import_object(network, (X,))
    assert set(weights) == {"tied", "layers.0.bias", "layers.1.weight", "layers.1.bias"}
    sources = [source_names(op.location) for op in module.walk() if op.name in ("nn.matmul", "nn.relu")]
    assert [names[:-1] for names in sources] == [
        ("layers.0.product", "layers.0"),
        ("relu",),
        ("layers.1.product", "layers.1"),
        ("matmul",),
    ]
    lines = [int(names[-1].removeprefix("test_nn.py:")) for names in sources]
    assert lines[0] == lines[2] < lines[1] < lines[3]


def test_training_moves_parameters_as_numpy_says(rng: np.random.Generator) -> None:
    layer, target = Linear(4, 2, rng), rng.standard_normal((3, 2)).astype(np.float32)
    before = layer.weight.value.copy()
    with ttc.training(layer, loss="mse", optimizer="sgd:lr=0.1", example_inputs=(X,), target="host") as executor:
        _, loss = executor(X, target)
        after = executor.state_dict()["weight"]
    error = X @ before - target
    np.testing.assert_allclose(loss, (error**2).mean(), rtol=1e-5)
    np.testing.assert_allclose(after, before - 0.1 * X.T @ error / 3, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(layer.weight.value, before)


def test_a_constant_is_not_trained(rng: np.random.Generator) -> None:
    shift = ttc.nn.Parameter(np.float32([1, 2, 3, 4]), requires_grad=False)
    scale = ttc.nn.Parameter(np.float32([1, 2, 3, 4]))
    module = by_hand(lambda x: (x + shift) * scale, shift, scale)
    program = ttc.compile(module, (X,), loss="mse", optimizer="sgd:lr=0.1", target="host")
    assert set(program.description.parameters) == {"weights.1"}


def test_values_of_parameters_by_name(rng: np.random.Generator) -> None:
    network = Network(rng)
    value = rng.standard_normal((5, 4))
    network.load_parameter_dict({"layers.1.weight": value})
    np.testing.assert_array_equal(network.parameter_dict()["layers.1.weight"], value.astype(np.float32))
    for wrong, code in (({"layers.1.wieght": value}, "E0206"), ({"layers.1.weight": value.T}, "E0401")):
        with pytest.raises(ttc.Error) as caught:
            network.load_parameter_dict({"layers.1.bias": np.ones(4), **wrong})
        assert caught.value.code == code
        assert not network.layers[1].bias.value.any()


def test_shapes_and_batch_go_before_those_of_examples(rng: np.random.Generator) -> None:
    program = ttc.compile(Linear(4, 2, rng), (X,), target="host", batch=7)
    assert ttc.Executor(program).run({"x": np.zeros((7, 4), np.float32)})["output"].shape == (7, 2)


KEPT: list[ttc.nn.Tensor] = []
WRONG: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "branch": (lambda x: x if x > 0 else -x, "E0207", "branch of Python"),
    "number": (lambda x: x * float(ops.reduce_sum(x)), "E0207", "number of Python"),
    "array": (lambda x: np.asarray(x), "E0207", "array of numpy"),
    "rank": (lambda x: ops.conv2d(x, np.zeros((1, 1, 1, 1), np.float32)), "E0401", "spatial dimensions"),
    "product": (lambda x: ops.matmul(x, np.zeros((5, 4), np.float32)), "E0401", "sums over"),
    "axis": (lambda x: ops.softmax(x, 2), "E0412", "axis"),
    "same name": (lambda x: ops.relu(ops.relu(x, name="a"), name="a"), "E0207", "two ops"),
    "stray parameter": (lambda x: x * ttc.nn.Parameter(4), "E0207", "belongs to no module"),
    "nothing": (lambda x: None, "E0207", "returns nothing"),
    "text": (lambda x: x + "a", "E0403", "no array of numbers"),
    "types": (lambda x: x + np.zeros(4), "E0403", "float64"),
    "index": (lambda x: x[5], "E0402", "outside"),
    "padding": (lambda x: ops.max_pool2d(x[None, None], 2, padding="some"), "E0402", "same"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_traced_is_an_error_with_its_line(case: str) -> None:
    run, code, words = WRONG[case]
    with pytest.raises(ttc.Error, match=words) as caught:
        ttc.compile(by_hand(run), (X,), target="host")
    assert caught.value.code == code
    assert case == "nothing" or "test_nn.py:" in str(caught.value)


def test_a_tensor_dies_with_its_trace() -> None:
    ttc.compile(by_hand(lambda x: KEPT.append(x) or -x), (X,), target="host")
    for run in (lambda x: x + KEPT[0], lambda x: KEPT[0]):
        with pytest.raises(ttc.Error, match="another trace") as caught:
            ttc.compile(by_hand(run), (X,), target="host")
        assert caught.value.code == "E0207"
    KEPT.clear()


def test_nothing_runs_outside_of_a_trace() -> None:
    for run in (lambda: ops.relu(X), lambda: by_hand(lambda x: x)(X)):
        with pytest.raises(ttc.Error, match="outside of a trace") as caught:
            run()
        assert caught.value.code == "E0207"


def test_what_examples_and_attributes_must_be(rng: np.random.Generator) -> None:
    module = Linear(4, 2, rng)
    for examples, code in ((None, "E0101"), ((X, X), "E0206"), ({"z": X}, "E0206")):
        with pytest.raises(ttc.Error) as caught:
            ttc.compile(module, examples, target="host")
        assert caught.value.code == code
    with pytest.raises(ttc.Error, match="already"):
        module.add_parameter("bias", ttc.nn.Parameter(2))

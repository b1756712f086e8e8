"""Recurrent layers against TensorFlow's interpreter, whose states stay from run to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ttc
from tests.ttc.importers.tflite.cases import imported, interpreted, normal
from tests.ttc.importers.tflite.writer import Graph, Op, Tensor, model
from ttc.dialects.core.errors import Error

STEPS, SAMPLES, INPUTS, UNITS = 3, 2, 4, 5


def layer(
    op: str,
    x: NDArray,
    weights: Sequence[NDArray | None],
    states: Mapping[int, tuple[int, ...]],
    options: Mapping[str, Any],
    units: int,
    *,
    merged: bool = True,
) -> bytes:
    """A layer with its weights as operands from 1 on, and its states where they stand."""
    tensors = [Tensor("x", x.shape)]
    inputs: list[str | None] = ["x"]
    for place in range(1, max(len(weights), *states) + 1):
        value = weights[place - 1] if place <= len(weights) else None
        if place in states:
            tensors.append(Tensor(f"state{place}", states[place], variable=True))
            inputs.append(f"state{place}")
        elif value is not None:
            tensors.append(Tensor(f"w{place}", value.shape, data=value))
            inputs.append(f"w{place}")
        else:
            inputs.append(None)
    results = ["y"] if merged else ["y", "z"]
    tensors += [Tensor(name, (*x.shape[:-1], units)) for name in results]
    return model(Graph(tensors, ["x"], results, [Op(op, inputs, results, options)]))


def lstm_weights(*, coupled: bool = False, peepholes: bool = False) -> list[NDArray | None]:
    gates: list[NDArray | None] = [normal(UNITS, width) for width in (INPUTS, UNITS) for _ in range(4)]
    peep: list[NDArray | None] = [normal(UNITS) if peepholes else None for _ in range(3)]
    biases: list[NDArray | None] = [normal(UNITS) for _ in range(4)]
    if coupled:
        gates[0] = gates[4] = peep[0] = biases[0] = None
    return [*gates, *peep, *biases, None, None]


STATE = {18: (SAMPLES, UNITS), 19: (SAMPLES, UNITS)}
TANH = {"fused_activation_function": "TANH"}


@pytest.mark.parametrize("kind", [{}, {"coupled": True}, {"peepholes": True}, {"coupled": True, "peepholes": True}])
@pytest.mark.parametrize("time_major", [False, True])
def test_lstm(time_major: bool, kind: dict[str, bool], tmp_path: Path) -> None:
    x = normal(STEPS, SAMPLES, INPUTS) if time_major else normal(SAMPLES, STEPS, INPUTS)
    data = layer("UNIDIRECTIONAL_SEQUENCE_LSTM", x, lstm_weights(**kind), STATE, {**TANH, "time_major": time_major}, UNITS)
    found = imported(data, {"x": x}, tmp_path)
    np.testing.assert_allclose(found[0], interpreted(data, {"x": x})[0], rtol=1e-4, atol=1e-5)
    assert len(found) == 3


def test_lstm_of_one_step(tmp_path: Path) -> None:
    x = normal(SAMPLES, INPUTS)
    data = layer("UNIDIRECTIONAL_SEQUENCE_LSTM", x[:, None], lstm_weights(), STATE, TANH, UNITS)
    single = layer("LSTM", x, lstm_weights(), STATE, TANH, UNITS)
    assert imported(data, {"x": x[:, None]}, tmp_path)[0].shape == (SAMPLES, 1, UNITS)
    assert imported(single, {"x": x}, tmp_path)[0].shape == (SAMPLES, UNITS)


@pytest.mark.parametrize("time_major", [False, True])
def test_rnn(time_major: bool, tmp_path: Path) -> None:
    x = normal(STEPS, SAMPLES, INPUTS) if time_major else normal(SAMPLES, STEPS, INPUTS)
    weights = [normal(UNITS, INPUTS), normal(UNITS, UNITS), normal(UNITS)]
    options = {**TANH, "time_major": time_major}
    data = layer("UNIDIRECTIONAL_SEQUENCE_RNN", x, weights, {4: (SAMPLES, UNITS)}, options, UNITS)
    np.testing.assert_allclose(imported(data, {"x": x}, tmp_path)[0], interpreted(data, {"x": x})[0], rtol=1e-4, atol=1e-5)


def test_states_stay_from_run_to_run(tmp_path: Path) -> None:
    """Two runs of a compiled program, and of the interpreter; what is no result of the model is no result of the program."""
    x = normal(SAMPLES, INPUTS)
    data = layer("RNN", x, [normal(UNITS, INPUTS), normal(UNITS, UNITS), normal(UNITS)], {4: (SAMPLES, UNITS)}, TANH, UNITS)
    (tmp_path / "rnn.tflite").write_bytes(data)
    ttc.compile(tmp_path / "rnn.tflite", target="host").save(tmp_path / "rnn.tti")
    with ttc.load(tmp_path / "rnn.tti") as executor:
        for runs in (1, 2):
            found = executor.run({"x": x})
            assert list(found) == ["y"]
            np.testing.assert_allclose(found["y"], interpreted(data, {"x": x}, runs=runs)[0], rtol=1e-4, atol=1e-5)


def test_svdf(tmp_path: Path) -> None:
    x, rank, memory = normal(SAMPLES, INPUTS), 2, 3
    weights = [normal(UNITS * rank, INPUTS), normal(UNITS * rank, memory), normal(UNITS)]
    options = {"rank": rank, "fused_activation_function": "RELU"}
    data = layer("SVDF", x, weights, {4: (SAMPLES, UNITS * rank * memory)}, options, UNITS)
    np.testing.assert_allclose(imported(data, {"x": x}, tmp_path)[0], interpreted(data, {"x": x})[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "options", [{**TANH, "cell_clip": 1.0}, {**TANH, "diagonal_recurrent_tensors": True}, {"fused_activation_function": "SIGN_BIT"}]
)
def test_what_a_layer_cannot_do(options: dict[str, Any], tmp_path: Path) -> None:
    x = normal(SAMPLES, STEPS, INPUTS)
    data = layer("UNIDIRECTIONAL_SEQUENCE_LSTM", x, lstm_weights(), STATE, options, UNITS)
    with pytest.raises(Error) as caught:
        imported(data, {"x": x}, tmp_path)
    assert caught.value.code == "E0202"


BOTH = dict.fromkeys((35, 36, 37, 38), (SAMPLES, UNITS))
ONE_WAY: list[NDArray | None] = [normal(UNITS, INPUTS), normal(UNITS, UNITS), normal(UNITS), None]
WAYS: dict[str, Any] = {
    "BIDIRECTIONAL_SEQUENCE_RNN": ([*ONE_WAY, normal(UNITS, INPUTS), *ONE_WAY[1:], None, None, None], {4: BOTH[35], 8: BOTH[35]}),
    "BIDIRECTIONAL_SEQUENCE_LSTM": ([*lstm_weights(), *lstm_weights(peepholes=True), *(None,) * 13], BOTH),
}


@pytest.mark.parametrize("op", WAYS)
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
def test_layers_both_ways(time_major: bool, merged: bool, op: str, tmp_path: Path) -> None:
    """Against the interpreter with the time first: its LSTM puts merged results of samples in wrong places."""
    x, units = normal(STEPS, SAMPLES, INPUTS), UNITS * (1 + merged)
    given = x if time_major else np.ascontiguousarray(x.transpose(1, 0, 2))
    weights, states = WAYS[op]
    models = [
        layer(op, feed, weights, states, {**TANH, "time_major": major, "merge_outputs": merged}, units, merged=merged)
        for feed, major in ((given, time_major), (x, True))
    ]
    found, wanted = imported(models[0], {"x": given}, tmp_path), interpreted(models[1], {"x": x})
    assert len(wanted) == 2 - merged
    for ours, theirs in zip(found, wanted, strict=False):
        np.testing.assert_allclose(ours if time_major else ours.transpose(1, 0, 2), theirs, rtol=1e-4, atol=1e-5)

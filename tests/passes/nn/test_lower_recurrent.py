"""Tests of the pass in passes/nn/lower_recurrent.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.lower_recurrent import LowerRecurrent

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(LowerRecurrent())


GATES = {"rnn": 1, "gru": 3, "lstm": 4}
FUNCTIONS = {"rnn": ["tanh"], "gru": ["sigmoid", "tanh"], "lstm": ["sigmoid", "tanh", "tanh"]}


def fragment(kind: str, direction: str = "forward", functions: list[str] | None = None, lengths: str = "_", **extra: str) -> str:
    """A layer of 3 steps, 2 samples, 4 features and 5 states, with bias and first state; extra: attributes of the kind."""
    d, g = 1 + (direction == "bidirectional"), GATES[kind]
    names = (functions or FUNCTIONS[kind]) * d
    attrs = {
        "activations": "[" + ", ".join(f'"{name}"' for name in names) + "]",
        "alphas": str([0.25] * len(names)),
        "betas": str([0.5] * len(names)),
        "clip": "inf",
        "direction": f'"{direction}"',
        **({"gru": {"linear_before_reset": "false"}, "lstm": {"input_forget": "false"}}.get(kind) or {}),
        **extra,
    }
    arguments = {"x": "3x2x4xf32", "w": f"{d}x{g * 5}x4xf32", "r": f"{d}x{g * 5}x5xf32", "b": f"{d}x{2 * g * 5}xf32", "h": f"{d}x2x5xf32"}
    if kind == "lstm":
        arguments |= {"c": f"{d}x2x5xf32", "p": f"{d}x15xf32"}
    operands = [lengths if name == "_" else f"%{name}" for name in ("x", "w", "r", "b", "_", "h", *(("c", "p") if kind == "lstm" else ()))]
    types = [f"tensor<{'2xi64' if x == '%n' else arguments[x[1:]]}>" for x in operands if x != "_"]
    states = 3 if kind == "lstm" else 2
    results = [f"tensor<3x{d}x2x5xf32>", *[f"tensor<{d}x2x5xf32>"] * (states - 1)]
    values = ", ".join(f"%{i}" for i in range(states))
    return f"""({", ".join(f"%{name}: tensor<{type_}>" for name, type_ in arguments.items())})
    %n = ttc.constant() {{value = #ttc.literal<[1, 3], tensor<2xi64>>}} : () -> tensor<2xi64>
    {values} = nn.{kind}({", ".join(operands)}) {{{", ".join(f"{k} = {v}" for k, v in attrs.items())}}} : ({", ".join(types)}) -> ({
        ", ".join(results)
    })
    return {values} : {", ".join(results)}"""


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_layers(harness: Harness, kind: str, direction: str) -> None:
    outcome = harness.numbers(LowerRecurrent(), fragment(kind, direction))
    assert outcome.count(kind) == 0
    assert outcome.count("matmul") == (1 + 3 * (2 if kind == "gru" else 1)) * (2 if direction == "bidirectional" else 1)


VARIANTS = {
    "sequences of their own lengths": fragment("lstm", "reverse", lengths="%n"),
    "lengths forward": fragment("gru", lengths="%n"),
    "clip": fragment("lstm", clip="0.5"),
    "coupled gates": fragment("lstm", input_forget="true"),
    "linear before reset": fragment("gru", linear_before_reset="true"),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants(harness: Harness, variant: str) -> None:
    outcome = harness.numbers(LowerRecurrent(), VARIANTS[variant])
    assert outcome.report.rewrites == {"lower-recurrent": 1}


@pytest.mark.parametrize(
    "function",
    ["relu", "sigmoid", "affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu", "softsign", "softplus"],
)
def test_activations(harness: Harness, function: str) -> None:
    outcome = harness.numbers(LowerRecurrent(), fragment("rnn", functions=[function]))
    assert outcome.count("rnn") == 0


def test_long_sequences_stay(harness: Harness) -> None:
    outcome = harness.unchanged(LowerRecurrent(), fragment("rnn").replace("3x2x4", "65x2x4").replace("3x1x2x5", "65x1x2x5"))
    assert outcome.missed() == ["nn.rnn stays one op: it has 65 steps"]


def test_lengths_that_are_inputs_stay(harness: Harness) -> None:
    text = fragment("rnn", lengths="%n")
    lines = [line for line in text.splitlines() if "ttc.constant" not in line]
    outcome = harness.unchanged(LowerRecurrent(), "\n".join(lines).replace("(%x:", "(%n: tensor<2xi64>, %x:", 1))
    assert outcome.missed() == ["nn.rnn stays one op: lengths of sequences are not constant"]


def gradient(steps: int = 3, reverse: str = "false") -> str:
    """The gradient of a direction with two states, three sums of which two are multiplied, and four terms."""
    types = {"f": f"tensor<{steps}x2x20xf32>", "r": "tensor<10x5xf32>", "y": f"tensor<{steps}x2x5xf32>", "e": "tensor<2x2x5xf32>"}
    found = f"tensor<{steps}x2x15xf32>"
    return f"""({", ".join(f"%{name}: {type_}" for name, type_ in types.items())})
    %0, %1 = nn.recurrent_gradient(%f, %r, %y, %e) {{sources = [0, 0, 1, 1], targets = [1, 4, 6, 3], sums = 3, inner = 0,
        reverse = {reverse}}} : ({", ".join(types.values())}) -> ({found}, {types["e"]})
    return %0, %1 : {found}, {types["e"]}"""


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("reverse", ["false", "true"])
def test_gradients(harness: Harness, steps: int, reverse: str) -> None:
    outcome = harness.numbers(LowerRecurrent(), gradient(steps, reverse))
    assert (outcome.count("recurrent_gradient"), outcome.count("matmul")) == (0, steps)


@pytest.mark.parametrize("reverse", ["false", "true"])
def test_gradients_with_inner_products(harness: Harness, reverse: str) -> None:
    text = gradient(3, reverse).replace("sources = [0, 0, 1, 1], targets = [1, 4, 6, 3]", "sources = [0, 1, 7, 7], targets = [5, 3, 4, 2]")
    outcome = harness.numbers(LowerRecurrent(), text.replace("inner = 0", "inner = 1"))
    assert (outcome.count("recurrent_gradient"), outcome.count("matmul")) == (0, 6)


def test_gradients_of_many_steps_stay(harness: Harness) -> None:
    outcome = harness.unchanged(LowerRecurrent(), gradient(65))
    assert outcome.missed() == ["nn.recurrent_gradient stays one op: it has 65 steps"]


def training(*read: int) -> str:
    """A layer that keeps its sums and cells, of whose results those of these numbers are read."""
    x, w, r = "tensor<3x2x4xf32>", "tensor<1x20x4xf32>", "tensor<1x20x5xf32>"
    results = ["tensor<3x1x2x5xf32>", "tensor<1x2x5xf32>", "tensor<1x2x5xf32>", "tensor<3x1x2x20xf32>", "tensor<3x1x2x5xf32>"]
    return f"""(%x: {x}, %w: {w}, %r: {r})
    %0, %1, %2, %3, %4 = nn.lstm_training(%x, %w, %r, _, _, _, _, _) {{activations = ["sigmoid", "tanh", "tanh"], alphas = [0.0, 0.0, 0.0],
        betas = [0.0, 0.0, 0.0], clip = inf, direction = "forward", input_forget = false}} : ({x}, {w}, {r}) -> ({", ".join(results)})
    return {", ".join(f"%{i}" for i in read)} : {", ".join(results[i] for i in read)}"""


def test_what_nobody_reads_is_not_kept(harness: Harness) -> None:
    outcome = harness.numbers(LowerRecurrent(0), training(0, 1, 2))
    assert (outcome.count("lstm"), outcome.count("lstm_training")) == (1, 0)


@pytest.mark.parametrize("result", [3, 4])
def test_what_is_read_is_kept(harness: Harness, result: int) -> None:
    harness.unchanged(LowerRecurrent(0), training(0, result))


def test_hosts_write_nothing_out(harness: Harness) -> None:
    outcome = harness.unchanged(LowerRecurrent(0), gradient())
    assert outcome.missed() == []

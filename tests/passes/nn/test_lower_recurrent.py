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

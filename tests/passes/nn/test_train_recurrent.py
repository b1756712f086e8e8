"""Tests of the pass in passes/nn/train_recurrent.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.passes.documented import pair
from ttc.accuracy.module_values import evaluate
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.machines.targets import load_target
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass, run_passes
from ttc.passes.nn.differentiate import JOINT, Differentiate
from ttc.passes.nn.train_recurrent import TrainRecurrent

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

MESSAGE = "the gradient reads the sums and cells of all steps, which the layer keeps"


def test_docstring(harness: Harness) -> None:
    outcome = harness.docstring(TrainRecurrent())
    assert [remark.message for remark in outcome.remarks] == [MESSAGE]


def layer(steps: int, direction: str = "forward", lengths: bool = False, coupled: bool = False) -> str:
    """A layer of 2 samples, 3 features and 4 states, in float64, all of whose operands but lengths are arguments."""
    d = 1 + (direction == "bidirectional")
    names = ", ".join(['"sigmoid"', '"tanh"', '"tanh"'] * d)
    zeros = [0.0] * 3 * d
    shapes = {"x": (steps, 2, 3), "w": (d, 16, 3), "r": (d, 16, 4), "b": (d, 32), "h": (d, 2, 4), "c": (d, 2, 4), "p": (d, 12)}
    types = {name: f"tensor<{'x'.join(map(str, shape))}xf64>" for name, shape in shapes.items()}
    given = ["%x", "%w", "%r", "%b", "%n" if lengths else "_", "%h", "%c", "%p"]
    taken = [types[name[1:]] if name != "%n" else "tensor<2xi64>" for name in given if name != "_"]
    y, state = f"tensor<{steps}x{d}x2x4xf64>", types["h"]
    return f"""({", ".join(f"%{name}: {type_}" for name, type_ in types.items())})
    %n = ttc.constant() {{value = #ttc.literal<[{steps}, 1], tensor<2xi64>>}} : () -> tensor<2xi64>
    %0, %1, %2 = nn.lstm({", ".join(given)}) {{activations = [{names}], alphas = {zeros}, betas = {zeros}, clip = 2.0,
        direction = "{direction}", input_forget = {str(coupled).lower()}}} : ({", ".join(taken)}) -> ({y}, {state}, {state})
    return %0, %1, %2 : {y}, {state}, {state}"""


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_gradients_are_those_of_a_layer_that_keeps_nothing(harness: Harness, direction: str, lengths: bool, coupled: bool) -> None:
    found: list[dict[str, Any]] = []
    inputs = "xwrbhcp"
    for passes in ([], [TrainRecurrent()]):
        unit = harness.parse(layer(5, direction, lengths, coupled))
        run_passes([*passes, Differentiate(entry="main", form="joint", inputs=tuple(inputs))], unit)
        functions: dict[str, Any] = {function.sym_name.data: function for function in entry_functions(unit.module)}
        function = functions[JOINT]
        functions["main"].detach()
        rng = np.random.default_rng(5)
        ports = [port.data["ttc.name"].data for port in function.arg_attrs.data]
        shapes = [argument.type.get_shape() for argument in function.body.block.args]
        found.append(evaluate(unit, {JOINT: {name: rng.standard_normal(shape) for name, shape in zip(ports, shapes, strict=True)}})[JOINT])
    plain, kept = ({name: value for name, value in each.items() if name.startswith("grad.")} for each in found)
    assert {f"grad.{name}" for name in inputs} == set(plain) == set(kept)
    for name, value in plain.items():
        assert np.abs(value).max() > 0
        np.testing.assert_allclose(kept[name], value, rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(("steps", "trained"), [(64, 0), (65, 1)])
def test_devices_keep_what_they_do_not_write_out(harness: Harness, steps: int, trained: int) -> None:
    unit = harness.parse(layer(steps))
    report = run_pass(TrainRecurrent(), Unit(unit.module, unit.weights, load_target("n150")))
    reason = "the gradient computes sums and cells again: it has 64 steps, which a device computes one by one"
    assert [remark.message for remark in report.remarks] == [MESSAGE if trained else reason]
    assert report.rewrites == ({"train-recurrent": 1} if trained else {})


def test_the_documented_layer_is_left_alone_on_devices(harness: Harness) -> None:
    unit = harness.parse(pair(TrainRecurrent)[0])
    assert not run_pass(TrainRecurrent(), Unit(unit.module, unit.weights, load_target("n150"))).rewrites

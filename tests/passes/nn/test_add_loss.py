"""Tests of the pass in passes/nn/add_loss.py."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.accuracy.module_values import evaluate
from ttc.dialects.core.errors import Error
from ttc.passes.base import Unit
from ttc.passes.manager import run_pass
from ttc.passes.nn.add_loss import AddLoss
from ttc.passes.nn.training_notes import notes
from ttc.passes.pipeline_text import make_pass


def test_docstring() -> None:
    _, report = check_pair(AddLoss(), "host")
    assert report.rewrites


TWO = """
func.func @forward(%x: tensor<2x3xf32> {ttc.name = "x"})
    -> (tensor<2x3xf32> {ttc.name = "y"}, tensor<2xi64> {ttc.name = "n"}, tensor<2x3xf32> {ttc.name = "z"},
        tensor<f32> {ttc.name = "loss"}) {
  %0 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = nn.argmax(%x) {axis = 1, keepdims = false, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  %2 = nn.reduce_sum(%x) {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  func.return %0, %1, %x, %2 : tensor<2x3xf32>, tensor<2xi64>, tensor<2x3xf32>, tensor<f32>
}"""


def added(**options: object) -> Unit:
    unit = parse_unit(TWO, "host")
    run_pass(make_pass("add-loss", options), unit)
    return unit


def test_which_output() -> None:
    assert notes(added(loss="cross_entropy", output="z").module) == {
        **{"inputs": ("x",), "outputs": ("y", "n", "z", "loss"), "loss": "cross_entropy", "reduction": "mean", "output": "z"},
        **{"targets": ("target",), "mean_of_means": False, "classes": 3, "ignore_index": -100},
        "wide": ("loss.sum", "loss.count", "target"),
    }
    found = notes(added(loss="output").module)
    assert (found["output"], found["targets"], found["mean_of_means"]) == ("loss", (), True)
    assert notes(added(loss="output:name=y").module)["mean_of_means"] is False


def test_the_loss_can_be_scaled() -> None:
    unit = added(loss="mse", output="y", scale=1024.0)
    found = evaluate(
        unit, {name: {"x": np.ones((2, 3), np.float32), "target": np.zeros((2, 3), np.float32)} for name in ("forward", "evaluate")}
    )
    assert found["evaluate"]["loss.scaled"] == 1024 * found["evaluate"]["loss.sum"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({}, "E0206", "the model has 3 outputs of floating point: y, z, loss; the loss is of one"),
        ({"output": "w"}, "E0206", "the model has no output 'w', which the loss is of"),
        ({"output": "n"}, "E0403", "loss mse takes an output of floating point, not int64[2]"),
        ({"loss": "output:name=q"}, "E0206", "the model has no output 'q', which the loss is of"),
        ({"loss": "mes"}, "E0101", "there is no loss 'mes'"),
        ({"entry": "evaluate"}, "E0206", "the model has no entry function 'evaluate'"),
    ],
)
def test_what_is_refused(options: dict[str, object], code: str, message: str) -> None:
    with pytest.raises(Error) as caught:
        added(**{"loss": "mse", **options})
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize(("shape", "is_loss"), [((2, 3), False), ((1, 3), False), ((2, 1), True), ((2,), True), ((), True)])
def test_an_output_of_several_numbers_a_row_is_no_loss_unless_it_is_named(shape: tuple[int, ...], is_loss: bool) -> None:
    kind = f"tensor<{'x'.join([*map(str, shape), 'f32'])}>"
    text = f"""
func.func @forward(%x: {kind} {{ttc.name = "x"}}) -> ({kind} {{ttc.name = "y"}}) {{
  %0 = nn.tanh(%x) : ({kind}) -> {kind}
  func.return %0 : {kind}
}}"""
    for loss in ("output:name=y", "output"):
        unit = parse_unit(text, "host")
        if is_loss or loss != "output":
            run_pass(make_pass("add-loss", {"loss": loss}), unit)
            assert notes(unit.module)["output"] == "y"
            continue
        with pytest.raises(Error) as caught:
            run_pass(make_pass("add-loss", {"loss": loss}), unit)
        assert (caught.value.code, caught.value.message) == (
            "E0206",
            f"output 'y' has shape {list(shape)}, and is no loss: that is a number, or one a row",
        )

"""Entry functions that give gradients: their signatures in all forms, what they leave out, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.accuracy.module_values import evaluate
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.locations import location_of, source_names
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.nn.base import dialect
from ttc.dialects.nn.gradients.maker import gradient_location
from ttc.passes.base import Report, Unit
from ttc.passes.manager import run_pass, run_passes
from ttc.passes.nn.differentiate import Differentiate
from ttc.passes.pipeline import PipelineSettings, stages
from ttc.passes.pipeline_text import make_pass, pass_text

PARAMETER = 'ttc.param() {{sym = "{0}", value = #ttc.literal<[{1}], tensor<{2}>>}} : () -> tensor<{2}>'
W = PARAMETER.format("w", "1.0, 2.0", "2xf64")
V = PARAMETER.format("v", "3.0, 5.0", "2xf64")


def function(*lines: str, arguments: str = '%x: tensor<2xf64> {ttc.name = "x"}', result: str = "%y", type_: str = "2xf64") -> str:
    """An entry function @forward of one result `y`."""
    body = "\n".join(lines)
    declared = f'func.func @forward({arguments}) -> (tensor<{type_}> {{ttc.name = "y"}})'
    return f"{declared} {{\n{body}\nfunc.return {result} : tensor<{type_}>\n}}"


def binary(name: str, op: str, a: str, b: str, type_: str = "2xf64") -> str:
    return f"{name} = nn.{op}({a}, {b}) : (tensor<{type_}>, tensor<{type_}>) -> tensor<{type_}>"


TWICE = function(
    f"%w = {W}", f"%u = {W}", f"%v = {V}", binary("%a", "mul", "%w", "%x"), binary("%b", "mul", "%u", "%a"), binary("%y", "mul", "%b", "%a")
)
STOPPED = function(f"%w = {W}", "%s = nn.stop_gradient(%w) : (tensor<2xf64>) -> tensor<2xf64>", binary("%y", "mul", "%s", "%x"))


def differentiated(text: str, **options: object) -> tuple[Unit, Report]:
    unit = parse_unit(text, "host")
    report = run_pass(make_pass("differentiate", options), unit)
    verify(unit.module)
    return unit, report


def signature(unit: Unit, name: str) -> tuple[list[str], list[str]]:
    """Names of what an entry function takes and gives."""
    (found,) = [f for f in entry_functions(unit.module) if f.sym_name.data == name]
    arguments, results = ports(found)
    return [p.name for p in arguments], [p.name for p in results]


def alone(unit: Unit, name: str) -> Unit:
    """The unit with one entry function."""
    copy = Unit(unit.module.clone(), unit.weights, unit.target)
    for other in entry_functions(copy.module):
        if other.sym_name.data != name:
            other.detach()
    return copy


def run(unit: Unit, name: str, **inputs: object) -> dict[str, np.ndarray]:
    given = {key: np.asarray(value, np.float64) for key, value in inputs.items()}
    return evaluate(alone(unit, name), {name: given})[name]


def refused(text: str, **options: object) -> Error:
    with pytest.raises(Error) as caught:
        differentiated(text, **options)
    return caught.value


def test_docstring() -> None:
    _, report = check_pair(Differentiate(), "host")
    assert report.rewrites["differentiate"] == 1
    assert report.remarks[-1].message == "gradients of 1 values by 8 ops"


def test_a_parameter_that_is_read_twice_has_one_gradient() -> None:
    """y = w^3 x^2, of which v has no part."""
    unit, report = differentiated(TWICE, inputs=["x"])
    assert signature(unit, "forward_backward") == (["x", "grad.y"], ["y", "grad.w", "grad.x"])
    found = run(unit, "forward_backward", x=[2.0, 3.0], **{"grad.y": [1.0, 10.0]})
    assert found["grad.w"].tolist() == [3 * 4, 10 * 3 * 4 * 9]
    assert found["grad.x"].tolist() == [2 * 2, 10 * 8 * 2 * 3]
    assert [r.message for r in report.remarks if r.kind == "missed"] == [
        "the parameter 'v' has no gradient: nothing that is differentiated depends on it"
    ]


def test_what_backward_needs_is_saved() -> None:
    unit, _ = differentiated(TWICE, form="separate")
    assert signature(unit, "forward") == (["x"], ["y", "saved.0", "saved.1"])
    assert signature(unit, "backward") == (["saved.0", "saved.1", "x", "grad.y"], ["grad.w"])
    saved = run(unit, "forward", x=[2.0, 3.0])
    given = {key: value for key, value in saved.items() if key.startswith("saved.")}
    assert run(unit, "backward", x=[2.0, 3.0], **given, **{"grad.y": [1.0, 10.0]})["grad.w"].tolist() == [12, 1080]


def test_or_computed_again() -> None:
    unit, _ = differentiated(TWICE, form="recompute", parameters=["w"])
    assert signature(unit, "forward") == (["x"], ["y"])
    assert signature(unit, "backward") == (["x", "grad.y"], ["grad.w"])
    assert run(unit, "backward", x=[2.0, 3.0], **{"grad.y": [1.0, 10.0]})["grad.w"].tolist() == [12, 1080]


def test_inputs_that_no_gradient_needs_are_no_arguments() -> None:
    text = function(f"%w = {W}", binary("%y", "add", "%w", "%x"))
    for form in ("separate", "recompute"):
        unit, _ = differentiated(text, form=form)
        assert signature(unit, "backward") == (["grad.y"], ["grad.w"])
        assert run(unit, "backward", **{"grad.y": [4.0, 5.0]})["grad.w"].tolist() == [4, 5]


LOSS = function(
    f"%w = {W}",
    binary("%a", "mul", "%w", "%x"),
    "%y = nn.reduce_sum(%a) {axes = [0], keepdims = false} : (tensor<2xf64>) -> tensor<f64>",
    type_="f64",
)


@pytest.mark.parametrize("form", ["joint", "recompute"])
def test_a_loss_needs_no_cotangent(form: str) -> None:
    unit, _ = differentiated(LOSS, loss="y", form=form)
    name = {"joint": "forward_backward"}.get(form, "backward")
    assert signature(unit, name)[0] == ["x"]
    assert run(unit, name, x=[7.0, 9.0])["grad.w"].tolist() == [7, 9]


def test_a_loss_may_have_a_cotangent_too() -> None:
    unit, _ = differentiated(LOSS, loss="y", outputs=["y"])
    assert run(unit, "forward_backward", x=[7.0, 9.0], **{"grad.y": 2.0})["grad.w"].tolist() == [21, 27]


def test_without_parameters_all_inputs_are_differentiated() -> None:
    unit, _ = differentiated(function(binary("%y", "mul", "%x", "%x")))
    assert signature(unit, "forward_backward")[1] == ["y", "grad.x"]


def test_a_gradient_that_is_0_everywhere_is_given() -> None:
    unit, _ = differentiated(function(f"%w = {W}", "%y = nn.floor(%w) : (tensor<2xf64>) -> tensor<2xf64>"))
    assert run(unit, "forward_backward", x=[0, 0], **{"grad.y": [1, 1]})["grad.w"].tolist() == [0, 0]


THROUGH_TRUTH = function(
    f"%w = {W}",
    "%t = nn.less(%w, %x) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>",
    "%y = nn.where(%t, %x, %x) : (tensor<2xi1>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>",
)
REFUSED = function(
    f"%w = {W}",
    "%c = nn.less(%x, %x) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>",
    "%e = nn.compress(%w, %c) {axis = 0} : (tensor<2xf64>, tensor<2xi1>) -> tensor<?xf64>",
    "%y = nn.reduce_sum(%e) {axes = [0], keepdims = false} : (tensor<?xf64>) -> tensor<f64>",
    type_="f64",
)


def test_what_counts_by_way_of_truths_alone_has_no_gradient() -> None:
    _, report = differentiated(THROUGH_TRUTH, inputs=["x"])
    (missed,) = [r for r in report.remarks if r.kind == "missed"]
    assert missed.message == "the parameter 'w' has no gradient: it counts only by way of nn.less, which gives bool[2]"
    error = refused(THROUGH_TRUTH, parameters=["w"])
    assert (error.code, "nn.less" in error.message) == ("E0506", True)


@pytest.mark.parametrize(
    ("text", "options", "code", "says"),
    [
        (TWICE, {"entry": "forwards"}, "E0206", "no entry function 'forwards'"),
        (TWICE, {"outputs": ["z"]}, "E0206", "has no output 'z'"),
        (TWICE, {"loss": "z"}, "E0206", "has no output 'z'"),
        (TWICE, {"parameters": ["u"]}, "E0206", "has no parameter 'u'"),
        (TWICE, {"inputs": ["y"]}, "E0206", "has no input 'y'"),
        (TWICE, {"form": "joined"}, "E0101", "no form 'joined'"),
        (TWICE, {"loss": "y"}, "E0506", "only a number has a gradient by itself"),
        (STOPPED, {"parameters": ["w"]}, "E0506", "it counts only by way of nn.stop_gradient"),
        (TWICE, {"parameters": ["v"]}, "E0506", "nothing that is differentiated depends on it"),
        (TWICE.replace("xf64", "xi64").replace("1.0, 2.0", "1, 2").replace("3.0, 5.0", "3, 5"), {}, "E0506", "is of floating point"),
        (REFUSED, {}, "E0506", "nn.reduce_sum has no gradient here: a shape depends on data"),
    ],
)
def test_what_is_refused(text: str, options: dict, code: str, says: str) -> None:
    error = refused(text, **options)
    assert error.code == code
    assert says in error.message


def test_names_that_are_taken_are_refused() -> None:
    text = function(
        binary("%y", "mul", "%x", "%g"), arguments='%x: tensor<2xf64> {ttc.name = "x"}, %g: tensor<2xf64> {ttc.name = "grad.y"}'
    )
    assert refused(text).code == "E0302"
    unit, _ = differentiated(TWICE)
    with pytest.raises(Error) as caught:
        run_pass(Differentiate(), unit)
    assert (caught.value.code, "forward_backward" in caught.value.message) == ("E0302", True)


COUNTED = """
func.func @forward(%x: tensor<2xf64> {ttc.name = "x"})
    -> (tensor<2xf64> {ttc.name = "y"}, tensor<2xf64> {ttc.name = "s", ttc.updates = "s"}) {
  %s = ttc.state() {sym = "s", value = #ttc.literal<[3.0, 5.0], tensor<2xf64>>} : () -> tensor<2xf64>
  %y = nn.mul(%s, %x) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %n = nn.add(%s, %x) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  func.return %y, %n : tensor<2xf64>, tensor<2xf64>
}
"""


def test_a_state_that_forward_changes_is_saved() -> None:
    """Read in backward, it would be the new one."""
    unit, _ = differentiated(COUNTED, form="separate")
    assert signature(unit, "forward")[1] == ["y", "s", "saved.0"]
    assert signature(unit, "backward")[0] == ["saved.0", "grad.y"]
    assert run(unit, "forward", x=[1.0, 1.0])["saved.0"].tolist() == [3, 5]
    joint, _ = differentiated(COUNTED)
    assert run(joint, "forward_backward", x=[1.0, 1.0], **{"grad.y": [1.0, 2.0]})["grad.x"].tolist() == [3, 10]
    error = refused(COUNTED, form="recompute")
    assert (error.code, "'s' is changed by the entry" in error.message) == ("E0506", True)


def test_text_gives_the_entries_again() -> None:
    unit, _ = differentiated(TWICE, form="separate")
    text = print_op(unit.module)
    again = parse_module(text, "text", [dialect])
    verify(again)
    assert print_op(again) == text
    assert print_op(differentiated(TWICE, form="separate")[0].module) == text


def test_options_as_text() -> None:
    given = Differentiate(loss="loss", parameters=("a.w", "b.w"), inputs=("x",), form="recompute")
    assert pass_text(given) == "differentiate{loss=loss parameters=[a.w,b.w] inputs=[x] form=recompute}"


def test_locations_of_gradients() -> None:
    names = ("layer/MatMul", "model.py:12")
    assert source_names(gradient_location(location_of(names))) == ("grad.layer/MatMul", "model.py:12")
    assert source_names(gradient_location(gradient_location(location_of(names)))) == ("grad.layer/MatMul", "model.py:12")
    assert source_names(gradient_location(location_of(()))) == ("grad.op",)


def test_the_pipeline_takes_gradients_through_the_stage() -> None:
    unit = parse_unit(TWICE, "host")
    run_passes(stages(unit.target, PipelineSettings(gradients=Differentiate(inputs=("x",))))["nn"], unit)
    verify(unit.module)
    assert run(unit, "forward_backward", x=[2.0, 3.0], **{"grad.y": [1.0, 10.0]})["grad.x"].tolist() == [4, 480]


def chain(count: int) -> Unit:
    """A chain of that many products and activations."""
    lines, last = [f"%w = {W}"], "%x"
    for i in range(count // 2):
        lines += [binary(f"%a{i}", "mul", last, "%w"), f"%b{i} = nn.tanh(%a{i}) : (tensor<2xf64>) -> tensor<2xf64>"]
        last = f"%b{i}"
    return parse_unit(function(*lines, result=last), "host")


def test_ops_grow_with_the_model() -> None:
    counts = []
    for size in (100, 200, 400):
        unit = chain(size)
        run_pass(Differentiate(), unit)
        counts.append(sum(1 for _ in unit.module.walk()))
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])

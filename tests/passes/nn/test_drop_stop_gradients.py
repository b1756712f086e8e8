"""What stops gradients goes once they are made."""

from __future__ import annotations

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.passes.manager import run_pass
from ttc.passes.nn.drop_stop_gradients import DropStopGradients

LOOP = """func.func @forward(%n: tensor<i64> {ttc.name = "n"}, %x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
%0 = nn.loop(%n, _, %x) {carried = 1} : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32> {
^bb0(%i: tensor<i64>, %a: tensor<2xf32>):
  %1 = nn.stop_gradient(%a) : (tensor<2xf32>) -> tensor<2xf32>
  nn.yield(%1) : (tensor<2xf32>) -> ()
}
func.return %0 : tensor<2xf32>
}"""


def test_docstring() -> None:
    _, report = check_pair(DropStopGradients(), "host")
    assert report.rewrites == {"drop-stop-gradients": 1}


def test_inside_loops() -> None:
    unit = parse_unit(LOOP, "host")
    assert "stop_gradient" in unit.text()
    run_pass(DropStopGradients(), unit)
    assert "stop_gradient" not in unit.text()

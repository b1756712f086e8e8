"""Probes become outputs."""

from __future__ import annotations

import pytest

from tests.passes.module_pairs import check_pair, parse_unit
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.passes.manager import run_pass
from ttc.passes.nn.expose_probes import ExposeProbes

TWICE = """func.func @forward(%x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %0 = nn.probe(%x) {label = "h"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = nn.probe(%0) {label = "h"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}"""
LOOP = """func.func @forward(%n: tensor<i64> {ttc.name = "n"}, %x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
%0 = nn.loop(%n, _, %x) {carried = 1} : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32> {
^bb0(%i: tensor<i64>, %a: tensor<2xf32>):
  %1 = nn.probe(%a) {label = "h"} : (tensor<2xf32>) -> tensor<2xf32>
  nn.yield(%1) : (tensor<2xf32>) -> ()
}
func.return %0 : tensor<2xf32>
}"""


def test_docstring() -> None:
    _, report = check_pair(ExposeProbes(), "host")
    assert report.rewrites


def test_probes_of_probes_and_of_arguments() -> None:
    unit = parse_unit(TWICE, "host")
    run_pass(ExposeProbes(), unit)
    (function,) = entry_functions(unit.module)
    assert [port.name for port in ports(function)[1]] == ["y", "probe.h", "probe.h#1"]
    last = function.body.block.last_op
    assert last is not None
    assert set(last.operands) == {function.body.block.args[0]}


def test_a_probe_inside_a_loop_is_an_error() -> None:
    unit = parse_unit(LOOP, "host")
    with pytest.raises(Error, match="inside a loop") as raised:
        run_pass(ExposeProbes(), unit)
    assert raised.value.code == "E0302"

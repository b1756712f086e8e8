"""Whatever prefix of the pipeline has run on a module, it verifies, its text gives it again, and it computes the same numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from xdsl.dialects.builtin import ModuleOp

from tests.passes.random_modules import modules
from ttc.accuracy.module_values import Arrays, drawn_inputs, evaluate
from ttc.compiler.driver import compile_source
from ttc.compiler.source import Source, dialects, text_weights
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.verification import verify
from ttc.instruments.base import PassWatcher
from ttc.instruments.numerics import Bound, comparisons, widened
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Pass, Report, Unit

NOISE = 1e-6
"""Relative change of inputs and weights, as a rounding makes it."""
ECHO = 0.2
"""How much of the bound the results may move by it: modules that amplify more say nothing of passes."""
OPTIONS = {"host": {"target": "host"}, "n150": {"target": "n150"}, "buda": {"target": "n150", "kernels": "buda"}}


class Prefixes(PassWatcher):
    """Checks the module after every pass that changed its text, against what the first one computes."""

    def __init__(self, inputs: dict[str, Arrays], first: dict[str, Arrays], text: str) -> None:
        super().__init__()
        self.inputs, self.first, self.text = inputs, first, text
        self.checked = 0

    def after(self, pass_: Pass, unit: Unit, report: Report) -> None:
        text = print_op(unit.module)
        if text == self.text:
            return
        self.text, self.checked = text, self.checked + 1
        verify(unit.module)
        again = parse_module(text, self.run, dialects())
        verify(again)
        assert print_op(again) == text
        bound = widened(Bound(), again)
        for name, found in comparisons(evaluate(replace(unit, module=again), self.inputs), self.first, bound):
            assert bound.keeps(found), f"after {self.run} (stage {self.stage}), output '{name}': {found}"


def checked(module: ModuleOp, fields: dict[str, Any]) -> int:
    """Compile a module under the eyes of `Prefixes`; how many prefixes it looked at."""
    options = resolve(CompileOptions, {"to": "netlist", **fields})
    store = text_weights(module, None)
    inputs = drawn_inputs(module, 1)
    unit = Unit(module, store, None)  # pyright: ignore[reportArgumentType]  # the machine does not bear on stage import
    first = evaluate(unit, inputs)
    noisy = {program: {name: value * np.float32(1 + NOISE) for name, value in values.items()} for program, values in inputs.items()}
    assume(all(found.max_abs <= ECHO * found.bound for _, found in comparisons(evaluate(unit, noisy), first, Bound())))
    watcher = Prefixes(inputs, first, print_op(module))
    compile_source(Source(module, store, "import"), options, [watcher])
    return watcher.checked


@pytest.mark.parametrize("machine", OPTIONS)
@settings(max_examples=14, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large])
@given(module=modules())
def test_every_prefix_keeps_the_numbers(machine: str, module: ModuleOp) -> None:
    checked(module, OPTIONS[machine])

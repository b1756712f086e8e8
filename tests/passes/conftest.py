"""What tests of passes share: IR fragments as modules, text comparison, and numbers before and after.

A fragment is the body of one entry function; its first line declares the arguments, its last one names the results:

    (%x: tensor<2x3xf32>)
    %0 = nn.relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>

The docstring of a pass holds two of them, indented under `Before:` and `After:`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from tests.passes.documented import pair
from ttc.dialects.core.formats import format_of
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.ir.adapter import TtcOp, print_op
from ttc.dialects.core.ir.attributes import WeightAttr
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.plain.interpret import run
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.base import dialect
from ttc.passes.base import Instrument, Pass, Remark, Report, Unit
from ttc.passes.manager import run_pass

Values = Mapping[str, NDArray]
"""Values of weights by key; the others are random."""


def random_value(key: str, spec: Spec) -> NDArray:
    """A value that depends on key and spec alone: floats in [0.5, 1.5), integers and booleans 0 or 1."""
    generator = np.random.default_rng(zlib.crc32(f"{key}{spec}".encode()))
    if spec.dtype.kind in "iub":
        return generator.integers(0, 2, spec.shape).astype(spec.dtype)
    return np.asarray(generator.random(spec.shape) + 0.5).astype(spec.dtype)


def module_text(fragment: str) -> str:
    """A fragment as a module with one entry function @main."""
    first, *body, last = [line.strip() for line in fragment.splitlines() if line.strip()]
    arguments = re.findall(r"%(\w+): (tensor<[^>]*>)", first)
    values, types = last.removeprefix("return ").split(" : ")
    results = re.findall(r"tensor<[^>]*>", types)
    declared = ", ".join(f'%{name}: {type_} {{ttc.name = "{name}"}}' for name, type_ in arguments)
    returned = ", ".join(f'{type_} {{ttc.name = "y{i}"}}' for i, type_ in enumerate(results))
    lines = [f"func.func @main({declared}) -> ({returned}) {{", *body, f"func.return {values} : {types}", "}"]
    return "\n".join(lines)


def parse(fragment: str, values: Values | None = None) -> Unit:
    """The unit of a fragment; every op is located at the name of its first result."""
    module = parse_module(module_text(fragment), "test", [dialect])
    weights = WeightStore()
    for op in module.walk():
        value = op.properties.get("value")
        if isinstance(value, WeightAttr) and value.key.data not in weights:
            key = value.key.data
            given = (values or {}).get(key)
            weights.add_array(key, random_value(key, value.spec) if given is None else given.astype(value.spec.dtype))
        if isinstance(op, TtcOp):
            op.location = named_location((op.results and op.results[0].name_hint) or op.name.split(".")[1])  # pyright: ignore[reportAttributeAccessIssue]
    verify(module)
    return Unit(module, weights, load_target("host"))


def text_of(module: ModuleOp) -> str:
    """The functions of a module without locations and value names."""
    for op in module.walk():
        for result in op.results:
            result.name_hint = None
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    argument.name_hint = None
    return "\n".join(print_op(op, locations=False) for op in module.ops)


def random_inputs(module: ModuleOp) -> list[NDArray]:
    """Random values of the arguments of the module's entry function: floats around zero, texts of one letter."""
    (function,) = entry_functions(module)
    generator = np.random.default_rng(7)
    specs = [spec_of(argument.type) for argument in function.body.block.args]
    return [_random_input(s, generator) for s in specs]


def _random_input(spec: Spec, generator: np.random.Generator) -> NDArray:
    if spec.dtype == STRING:
        return generator.choice(list("abc"), spec.shape).astype(STRING)
    if spec.dtype.kind in "iub":
        return generator.integers(0, 2, spec.shape).astype(spec.dtype)
    return generator.normal(size=spec.shape).astype(spec.dtype)


def evaluate(unit: Unit, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The results of the unit's entry function, by the reference interpreter."""

    def resolve(work: Work) -> NDArray:
        value = unit.weights[str(work.attrs["key"])].value()
        return format_of(value.dtype).unpack(value)

    (function,) = entry_functions(unit.module)
    return run(plain_block(function.body.block), inputs, resolve)


def check_numbers(before: Unit, after: Unit, inputs: Sequence[NDArray] | None = None, tolerance: float = 1e-5) -> None:
    """Both units give the same numbers: max|a - b| <= tolerance * max(1, max|b|), NaN where NaN."""
    given = random_inputs(before.module) if inputs is None else inputs
    for found, wanted in zip(evaluate(after, given), evaluate(before, given), strict=True):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        finite = np.abs(wanted[np.isfinite(wanted)].astype(np.float64))
        scale = max(1.0, float(finite.max(initial=0.0)))
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=0, atol=tolerance * scale)


@dataclass
class Outcome:
    """A unit after a pass, and what the pass reported."""

    unit: Unit
    report: Report

    @property
    def text(self) -> str:
        return text_of(self.unit.module)

    @property
    def remarks(self) -> list[Remark]:
        return self.report.remarks

    def missed(self) -> list[str]:
        """Messages of the rewrites that were not done."""
        return [r.message for r in self.report.remarks if r.kind == "missed"]

    def count(self, mnemonic: str) -> int:
        """Ops nn.<mnemonic> in the entry function."""
        (function,) = entry_functions(self.unit.module)
        return sum(op.name == f"nn.{mnemonic}" for op in function.walk())


@dataclass
class Harness:
    """Runs passes on fragments; given to tests as the fixture `harness`."""

    values: dict[str, NDArray] = field(default_factory=dict)

    def run(self, pass_: Pass, fragment: str, values: Values | None = None, *, instruments: Sequence[Instrument] = ()) -> Outcome:
        """Run one pass on a fragment, and verify what it leaves."""
        unit = parse(fragment, values)
        report = run_pass(pass_, unit, instruments)
        verify(unit.module)
        return Outcome(unit, report)

    def same(self, pass_: Pass, before: str, after: str, values: Values | None = None) -> Outcome:
        """The pass turns one fragment into the other, with the same numbers."""
        outcome = self.run(pass_, before, values)
        check_numbers(parse(before, values), outcome.unit)
        assert outcome.text == text_of(parse(after, values).module)
        return outcome

    def unchanged(self, pass_: Pass, fragment: str, values: Values | None = None) -> Outcome:
        """The pass leaves the fragment as it is."""
        return self.same(pass_, fragment, fragment, values)

    def numbers(self, pass_: Pass, fragment: str, values: Values | None = None, tolerance: float = 1e-5) -> Outcome:
        """The pass keeps the numbers of the fragment."""
        outcome = self.run(pass_, fragment, values)
        check_numbers(parse(fragment, values), outcome.unit, tolerance=tolerance)
        return outcome

    def docstring(self, pass_: Pass, values: Values | None = None) -> Outcome:
        """Execute the Before/After pair of the pass's docstring; the pass's name is its class's, and it says what it misses."""
        return self.same(pass_, *pair(type(pass_)), values)

    parse = staticmethod(parse)
    evaluate = staticmethod(evaluate)
    check_numbers = staticmethod(check_numbers)
    text_of = staticmethod(text_of)


@pytest.fixture
def harness() -> Harness:
    """Fragments in, checked fragments out."""
    return Harness()

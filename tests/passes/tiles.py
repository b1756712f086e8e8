"""What tests of the lowering to dialect tile and of its passes share: fragments as modules, passes on them, their numbers.

A fragment is the body of one entry function; its first line declares the arguments, its last one names the results:

    (%x: !tile.tensor<"2x3xFloat32", "rows">)
    %0 = tile.map(%x) {fn = "relu"} : (!tile.tensor<"2x3xFloat32", "rows">) -> !tile.tensor<"2x3xFloat32", "rows">
    return %0 : !tile.tensor<"2x3xFloat32", "rows">

In it, `f32[2, 3]` stands for a tensor of dialect nn, and `Float32[2, 3]`, `Float32[2, 3; 2]` for a tile in the layout of the target, with
fold 1 or 2.
"""

from __future__ import annotations

import re
import textwrap
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from tests.passes.documented import pair
from ttc.dialects.core.formats import format_named, format_of
from ttc.dialects.core.ir.adapter import TtcOp, print_op
from ttc.dialects.core.ir.attributes import WeightAttr
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.locations import named_location
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.to_plain import plain_block, plain_type
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.machines.targets import load_target
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.core.plain.interpret import run
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.base import dialect as nn_dialect
from ttc.dialects.tile.base import dialect as tile_dialect
from ttc.passes.base import Pass, Report, Unit
from ttc.passes.manager import run_pass

TYPE = r'!tile\.tensor<"[^"]*", "[^"]*">|tensor<[^>]*>'


def expand(fragment: str, target: str) -> str:
    """The fragment with its abbreviated types written out."""

    def tile(match: re.Match[str]) -> str:
        shape, _, fold = match[2].partition(";")
        layout = "rows" if target == "host" else f"tiles(32, 32{f', {fold.strip()}' if fold else ''})"
        return f'!tile.tensor<"{_dims(shape)}{match[1]}", "{layout}">'

    text = re.sub(r"\b([A-Z]\w*)\[([\d, ;]*)\]", tile, fragment)
    return re.sub(r"\b(i1|[a-z]+\d+)\[([\d, ]*)\]", lambda m: f"tensor<{_dims(m[2])}{m[1]}>", text)


def _dims(shape: str) -> str:
    return "".join(f"{size}x" for size in re.findall(r"\d+", shape))


def module_text(fragment: str, target: str) -> str:
    """A fragment as a module with one entry function @main."""
    text = re.sub(r"\n\s*:(?!:)", " :", textwrap.dedent(expand(fragment, target)).strip())
    first, *body, last = [line for line in text.splitlines() if line.strip()]
    arguments = re.findall(rf"%(\w+): ({TYPE})", first)
    values, types = last.strip().removeprefix("return ").split(" : ")
    declared = ", ".join(f'%{name}: {type_} {{ttc.name = "{name}"}}' for name, type_ in arguments)
    returned = ", ".join(f'{type_} {{ttc.name = "y{i}"}}' for i, type_ in enumerate(re.findall(TYPE, types)))
    return "\n".join([f"func.func @main({declared}) -> ({returned}) {{", *body, f"func.return {values} : {types}", "}"])


def weight_value(key: str, spec: Spec) -> NDArray:
    """A value that depends on key and spec alone: floats around zero, integers 0 or 1."""
    generator = np.random.default_rng(zlib.crc32(f"{key}{spec}".encode()))
    if spec.dtype.kind in "iub":
        return generator.integers(0, 2, spec.shape).astype(spec.dtype)
    return generator.normal(size=spec.shape).astype(spec.dtype)


def parse(fragment: str, target: str = "n150") -> Unit:
    """The unit of a fragment; every op is located at the name of its first result."""
    module = parse_module(module_text(fragment, target), "test", [nn_dialect, tile_dialect])
    weights = WeightStore()
    for op in module.walk():
        value = op.properties.get("value")
        if isinstance(value, WeightAttr) and value.key.data not in weights:
            weights.add_array(value.key.data, weight_value(value.key.data, value.spec))
        if isinstance(op, TtcOp) and op.results:
            op.location = named_location(op.results[0].name_hint or op.name)  # pyright: ignore[reportAttributeAccessIssue]
    verify(module)
    return Unit(module, weights, load_target(target))


def text_of(module: Operation) -> str:
    """The text of a module without locations, value names and the dtypes of its ports."""
    for op in module.walk():
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            value.name_hint = None
    return re.sub(r", ttc\.dtype = \w+", "", print_op(module, locations=False))


def random_inputs(module: ModuleOp) -> list[NDArray]:
    """Random values of the arguments: floats around zero, integers 0 or 1."""
    (function,) = entry_functions(module)
    generator = np.random.default_rng(7)
    types = [plain_type(argument.type) for argument in function.body.block.args]
    return [_random(type_, generator) for type_ in types]


def _random(type_: TensorType, generator: np.random.Generator) -> NDArray:
    format_ = format_named(type_.format)
    values = generator.normal(size=type_.shape) if format_.is_float else generator.integers(0, 2, type_.shape)
    return format_.round(np.asarray(values).astype(format_.compute))


def evaluate(unit: Unit, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The results of the unit's entry function on inputs that its formats then hold."""

    def resolve(work: Work) -> NDArray:
        value = unit.weights[str(work.attrs["key"])].value()
        return format_of(value.dtype).unpack(value)

    (function,) = entry_functions(unit.module)
    types: list[Attribute] = [a.type for a in function.body.block.args]
    held = [format_named(plain_type(t).format).round(x) for t, x in zip(types, inputs, strict=True)]
    return run(plain_block(function.body.block), held, resolve)


def check_numbers(before: Unit, after: Unit, tolerance: float = 1e-5, inputs: Sequence[NDArray] | None = None) -> None:
    """Both units give the same numbers: max|a - b| <= tolerance * max(1, max|b|), NaN where NaN."""
    given = random_inputs(before.module) if inputs is None else inputs
    for found, wanted in zip(evaluate(after, given), evaluate(before, given), strict=True):
        assert found.shape == wanted.shape
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

    def names(self) -> list[str]:
        """Names of the ops of the entry function, in order, without leaves and return."""
        (function,) = entry_functions(self.unit.module)
        return [op.name for op in function.body.block.ops if not op.name.startswith(("ttc.", "func."))]

    def ops(self, name: str) -> list[TtcOp]:
        """The ops of that name in the entry function."""
        (function,) = entry_functions(self.unit.module)
        return [op for op in function.body.block.ops if op.name == name and isinstance(op, TtcOp)]

    def missed(self) -> list[str]:
        """Messages of what was not done."""
        return [r.message for r in self.report.remarks if r.kind == "missed"]


def apply(pass_: Pass, fragment: str, target: str = "n150", tolerance: float | None = 1e-5) -> Outcome:
    """Run one pass on a fragment; what it leaves verifies, reads back from its text and, unless tolerance is None, keeps the numbers."""
    unit = parse(fragment, target)
    report = run_pass(pass_, unit)
    verify(unit.module)
    text = print_op(unit.module)
    assert print_op(parse_module(text, "again", [nn_dialect, tile_dialect])) == text
    if tolerance is not None:
        check_numbers(parse(fragment, target), unit, tolerance)
    return Outcome(unit, report)


def same(pass_: Pass, before: str, after: str, target: str = "n150", tolerance: float = 1e-5) -> Outcome:
    """The pass turns one fragment into the other."""
    outcome = apply(pass_, before, target, tolerance)
    assert outcome.text == text_of(parse(after, target).module)
    return outcome


def docstring(pass_: Pass, target: str = "n150", tolerance: float = 1e-5) -> Outcome:
    """Execute the Before/After pair of the pass's docstring; the pass's name is its class's, and it says what it misses."""
    return same(pass_, *pair(type(pass_)), target, tolerance)

"""Checks that passes keep the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ttc.accuracy.distances import Comparison, Exactness, compare
from ttc.accuracy.module_values import Arrays, drawn_inputs, evaluate
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.to_plain import plain_type
from ttc.dialects.core.records import record
from ttc.dialects.core.shown import shown
from ttc.instruments.base import PassWatcher
from ttc.passes.base import Pass, Report, Unit


@record
class Bound:
    """The errors that a numeric check allows.

    Args:
        exactness: of the formats that values are kept in.
        rtol: of relative L2, instead of the usual bounds; None: these.
    """

    exactness: Exactness = Exactness.FLOAT32
    rtol: float | None = None

    def keeps(self, found: Comparison) -> bool:
        """Return whether the figures are within the bound."""
        return found.within if self.rtol is None else found.relative_l2 <= self.rtol


class NumericCheck(PassWatcher):
    """Evaluates the module after every pass that changed it; compares with the module before the pass, and with the imported one.

    Inputs are random, or given by name.  The first pass that breaks the bound ends the compilation with E0505, which names it.  A pass
    that narrows formats is held to what the formats allow.  After a pass that changes entry functions on purpose, as those of training do,
    the module that it leaves is what later ones are compared with.
    """

    compares: ClassVar[bool] = True

    def __init__(self, bundle: Path | None = None, seed: int = 0, say: Callable[[str], None] | None = None) -> None:
        """bundle: an .npz file of inputs by name; the others are random.  seed: of these.  say: told at the end how far off it all is."""
        super().__init__()
        self._bundle, self._seed, self._say = bundle, seed, say
        self._checked = 0
        self._whole: dict[str, Comparison] = {}
        self._bound = Bound()
        self._inputs: dict[str, Arrays] | None = None
        self._first: dict[str, Arrays] = {}
        self._last: dict[str, Arrays] = {}

    def on_stage(self, stage: str, unit: Unit) -> None:
        super().on_stage(stage, unit)
        if self._inputs is None and stage != "tti":
            self._inputs = drawn_inputs(unit.module, self._seed, self._bundle)
            self._first = self._last = evaluate(unit, self._inputs)

    def after(self, pass_: Pass, unit: Unit, report: Report) -> None:
        if not report.changed or self._inputs is None:
            return
        for program, drawn in drawn_inputs(unit.module, self._seed, self._bundle).items() if self.stage == "nn" else ():
            self._inputs[program] = drawn | self._inputs.get(program, {})
        now = evaluated(unit, self._inputs)
        if isinstance(now, str):
            raise Error("E0505", f"pass {self.run} (stage {self.stage}) breaks the module: {now}", hint="ttc bisect finds the rewrite")
        bound = self._bound = widened(self._bound, unit.module)
        if pass_.resigns:
            self._last = self._first = now
            return
        steps = dict(comparisons(now, self._last, bound))
        whole = dict(comparisons(now, self._first, bound))
        report.numerics = {name: {"pass": steps[name].figures(), "model": whole[name].figures()} for name in steps}
        self._last, self._whole = now, whole
        self._checked += 1
        for found, than in ((steps, "the module before it"), (whole, "the imported model")):
            for name, figures in found.items():
                if not bound.keeps(figures):
                    raise self._broken(name, figures, than)

    def finish(self) -> None:
        if self._say is None or not self._whole:
            return
        name, worst = max(self._whole.items(), key=lambda item: item[1].of_bound)
        passes = f"{self._checked} pass{'es' if self._checked != 1 else ''} that changed the module kept the numbers"
        self._say(shown(f"{passes}; at the end output '{name}' against the imported model: {worst}"))

    def _broken(self, name: str, found: Comparison, than: str) -> Error:
        figures = f"max abs {found.max_abs:.3g}, relative L2 {found.relative_l2:.3g}, PCC {found.pcc_text()}"
        message = f"pass {self.run} (stage {self.stage}) breaks the numbers: output '{name}' differs from {than}: {figures}"
        return Error("E0505", message, hint="ttc bisect finds the rewrite")


def evaluated(unit: Unit, inputs: Mapping[str, Mapping[str, NDArray]]) -> dict[str, Arrays] | str:
    """Return the values that a module computes, or why it cannot be evaluated, if a pass has left it so."""
    try:
        return evaluate(unit, inputs)
    except MemoryError:
        raise
    except Exception as error:  # what a wrong rewrite leaves behind can fail anywhere, and in any way
        said = str(error).splitlines()[0] if isinstance(error, Error) else f"{type(error).__name__}: {error}"
        return f"it cannot be evaluated: {said}"


def comparisons(now: Mapping[str, Arrays], then: Mapping[str, Arrays], bound: Bound) -> Iterator[tuple[str, Comparison]]:
    """Return the figures of every output that there was, by name; with the program's name if there are several.

    One that is gone, or has another number of elements, is infinitely far off.
    """
    for program, outputs in then.items():
        for name, expected in outputs.items():
            value = now.get(program, {}).get(name)
            label = name if len(then) == 1 else f"{program}:{name}"
            if value is None or value.size != expected.size:
                yield label, Comparison(math.inf, math.inf, 0.0, 1.0, bound.exactness)
            else:
                yield label, compare(value.reshape(expected.shape), expected, bound.exactness)


def widened(bound: Bound, module: ModuleOp) -> Bound:
    """Return the bound, with what the narrowest floating-point format of the module allows."""
    return replace(bound, exactness=max(bound.exactness, *map(Exactness.of_format, _formats(module)), Exactness.FLOAT32))


def _formats(module: ModuleOp) -> set[str]:
    values: set[SSAValue] = {result for function in entry_functions(module) for op in function.walk() for result in op.results}
    types = {value.type for value in values}
    if not types:
        types = {op.properties["tensor"] for op in module.ops if "tensor" in op.properties}
    return {plain_type(type_).format for type_ in types}

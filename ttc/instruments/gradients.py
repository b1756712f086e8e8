"""Checks gradient rules before a model is differentiated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttc.accuracy.module_values import drawn_inputs, evaluate
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain import interpret
from ttc.dialects.core.plain.functions import Work
from ttc.dialects.nn.base import ops
from ttc.dialects.nn.gradients.base import GRADIENTS, NoGradient
from ttc.dialects.nn.gradients.check import BOUND, check_rule
from ttc.instruments.base import PassWatcher
from ttc.passes.base import Pass, Unit
from ttc.passes.nn.differentiate import Differentiate


class GradientCheck(PassWatcher):
    """Compares the gradient rule of every op that is differentiated with differences of its results, in float64.

    It evaluates the module before the pass `differentiate`, on inputs that are random or given by name, and checks each op at the values
    that come to it.  The first op whose rule is wrong ends the compilation with E0507, which names it and its source.

    Attributes:
        checked: how many ops were compared.
    """

    def __init__(self, bundle: Path | Mapping[str, NDArray] | None = None, seed: int = 0) -> None:
        """bundle: inputs by name, or an .npz file of them; the others are random.  seed: of these, of directions and of cotangents."""
        super().__init__()
        self._bundle, self._seed = bundle, seed
        self.checked = 0

    def before(self, pass_: Pass, unit: Unit) -> None:
        super().before(pass_, unit)
        wrong = self.wrong_rule(pass_, unit)
        if wrong is not None:
            raise wrong

    def wrong_rule(self, pass_: Pass, unit: Unit) -> Error | None:
        """Return the E0507 of the first op whose rule is wrong; None where there is none, or where the pass takes no gradients."""
        if not isinstance(pass_, Differentiate):
            return None
        try:
            evaluate(unit, drawn_inputs(unit.module, self._seed, self._bundle), self._execute)
        except Error as error:
            if error.code != "E0507":
                raise
            return error
        return None

    def _execute(self, work: Work, operands: Sequence[NDArray | None], resolve: interpret.Resolver | None = None) -> list[NDArray]:
        """Run an op, after its rule has been checked at its operands."""
        if work.op in GRADIENTS.rules() and any(x is not None and x.dtype.kind == "f" for x in operands):
            self._check(work, operands)
        return interpret.run_work(work, operands, resolve)

    def _check(self, work: Work, operands: Sequence[NDArray | None]) -> None:
        """Raises E0507 if the op's rule is wrong at these operands."""
        attrs = {key: np.dtype(str(value)) if key in ("dtype", "source") else value for key, value in work.attrs.items()}
        try:
            found = check_rule(ops()[work.op.removeprefix("nn.")], operands, attrs, self._seed)
        except NoGradient:
            return  # with these attributes or shapes it has none: the pass says so, if it is asked for
        self.checked += 1
        for finding in found:
            if finding.is_wrong:
                off = f"off by {finding.error:.3g} of the sum of magnitudes, {BOUND:.0e} allowed"
                message = f"the gradient rule of {work.op} is wrong: the cotangent of operand {finding.operand + 1} is {off}"
                raise Error("E0507", message, where=" + ".join(work.location) or work.op)

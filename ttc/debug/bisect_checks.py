"""Checks that a bisection asks of a module: its numbers, or a script of the user."""

from __future__ import annotations

import subprocess
from dataclasses import field
from pathlib import Path

from ttc.accuracy.module_values import Arrays, drawn_inputs, evaluate
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.records import record
from ttc.instruments.numerics import Bound, comparisons, evaluated, widened
from ttc.passes.base import Unit
from ttc.runtime.temporary import temporary_folder

SCRIPT_SECONDS = 600
"""The seconds that a script of the user may take."""


@record(frozen=False)
class NumbersKept:
    """Whether a module computes what the first one did.

    Args:
        bundle: an .npz file of inputs by name; the others are random.
        seed: of these.
        rtol: relative L2 error allowed; None: what the formats allow.
    """

    bundle: Path | None
    seed: int = 0
    rtol: float | None = None
    _inputs: dict[str, Arrays] | None = field(default=None, init=False)
    _first: dict[str, Arrays] = field(default_factory=dict, init=False)

    def restart(self) -> None:
        """Let the next module be the first one: a pass has changed on purpose what the module computes."""
        self._inputs = None

    @property
    def inputs(self) -> dict[str, Arrays]:
        """The inputs by name of each function; none before the first module was checked."""
        return self._inputs or {}

    def __call__(self, unit: Unit) -> str | None:
        """Return the first output that differs, with figures, or why it cannot be evaluated.  Raises what the first module does."""
        if self._inputs is None:
            self._inputs = drawn_inputs(unit.module, self.seed, self.bundle)
            self._first = evaluate(unit, self._inputs)
            return None
        now = evaluated(unit, self._inputs)
        if isinstance(now, str):
            return now
        bound = widened(Bound(rtol=self.rtol), unit.module)
        for name, found in comparisons(now, self._first, bound):
            if not bound.keeps(found):
                return f"output '{name}': max abs {found.max_abs:.3g}, relative L2 {found.relative_l2:.3g}, PCC {found.pcc_text()}"
        return None


@record
class ScriptPasses:
    """Whether a program, run with the path of a file of IR, ends with status 0."""

    script: Path

    def __call__(self, unit: Unit) -> str | None:
        """Return the status, if it is another.  Raises E0104 if the script cannot be run, or does not end."""
        with temporary_folder("ttc-bisect-") as folder:
            file = folder / "module.mlir"
            file.write_text(print_op(unit.module) + "\n", encoding="utf-8")
            try:
                ended = subprocess.run(
                    [str(self.script.resolve()), str(file)], check=False, timeout=SCRIPT_SECONDS, stdin=subprocess.DEVNULL
                )
            except OSError as error:
                raise Error("E0104", f"{self.script} cannot be run: {error.strerror}", hint="it must be executable") from None
            except subprocess.TimeoutExpired:
                raise Error("E0104", f"{self.script} does not end within {SCRIPT_SECONDS} s") from None
        return None if ended.returncode == 0 else f"{self.script.name} ends with status {ended.returncode}"

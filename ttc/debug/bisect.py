"""Finds the first pass, and in it the first rewrite, after which the IR fails a check."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import ModuleOp

from ttc.compiler.driver import compile_path
from ttc.debug.bisect_checks import NumbersKept
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.adapter import print_op
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.instruments.base import PassWatcher
from ttc.instruments.gradients import GradientCheck
from ttc.instruments.limit import RewriteLimit
from ttc.options import STAGES, CompileOptions
from ttc.passes.base import Instrument, Pass, Report, Unit, Watcher
from ttc.passes.manager import run_pass
from ttc.passes.pipeline_text import pass_text

if TYPE_CHECKING:
    from ttc.runtime.program import Program

Check = Callable[[Unit], "str | None"]
"""Says what is wrong with a module, in a few words; None if nothing is. The first module that it is given is the imported model."""
MAX_LINES = 40
"""The most lines of IR that are shown before and after a rewrite."""


@record
class Culprit:
    """Where the IR begins to fail.

    Args:
        stage, run, text: the stage, the run of the pass (`fuse-bias@1`), and the pass with its options.
        problem: what the check says, or what is wrong with IR that no check can look at.
        rewrite: number of the rewrite among those of the pass, and how it is called; None if the pass fails outside of named rewrites.
        before, after: lines of IR that differ, without what is alike.
    """

    stage: str
    run: str
    text: str
    problem: str
    rewrite: tuple[int, str] | None
    before: tuple[str, ...]
    after: tuple[str, ...]


class _Found(Exception):
    """A pass after which the IR is not legal, or the check fails; unit: before the pass."""

    def __init__(self, pass_: Pass, unit: Unit, problem: str, *, illegal: bool) -> None:
        self.pass_, self.unit, self.problem, self.illegal = pass_, unit, problem, illegal


class _Search(PassWatcher):
    """Checks the module after each pass that changed it, and keeps a copy of what it was before.

    Where the check is of numbers, gradient rules are compared with differences before a module is differentiated.
    """

    compares: ClassVar[bool] = True

    def __init__(self, check: Check) -> None:
        super().__init__()
        self._check = check
        self._started = False
        self._rules = GradientCheck(check.bundle, check.seed) if isinstance(check, NumbersKept) else None
        self._kept: tuple[ModuleOp, WeightStore] | None = None

    def on_stage(self, stage: str, unit: Unit) -> None:
        super().on_stage(stage, unit)
        if self._started:
            return
        self._started = True
        problem = self._check(unit)
        if problem is not None:
            raise Error("E0505", f"the check fails before any pass: {problem}")

    def before(self, pass_: Pass, unit: Unit) -> None:
        super().before(pass_, unit)
        self._kept = unit.module.clone(), unit.weights.copy()
        wrong = None if self._rules is None else self._rules.wrong_rule(pass_, unit)
        if wrong is not None:
            raise _Found(pass_, unit, f"{wrong.message} at {wrong.where}", illegal=False)

    def after(self, pass_: Pass, unit: Unit, report: Report) -> None:
        assert self._kept is not None
        if not report.changed:
            return
        illegal = _illegality(unit.module)
        if pass_.resigns and isinstance(self._check, NumbersKept):
            self._check.restart()
        problem = illegal or self._check(unit)
        if problem is not None:
            module, weights = self._kept
            raise _Found(pass_, Unit(module, weights, unit.target), problem, illegal=illegal is not None)


def bisect(
    path: Path,
    options: CompileOptions,
    check: Check,
    instruments: Sequence[Instrument] = (),
    engine: Callable[[Program], Culprit | None] | None = None,
) -> Culprit | None:
    """Compile up to the first pass whose result fails the check, then look for the rewrite.  None: every pass keeps it.

    Args: engine: looks into how the program runs that every pass kept; without effect on what does not become one.

    Raises: E0505 if the imported model fails the check itself, and what compilation raises.
    """
    search = _Search(check)
    try:
        compilation = compile_path(path, options, [*instruments, search])
    except _Found as found:
        return _narrowed(found, search, check)
    return None if engine is None or options.stop[0] != STAGES[-1] else engine(compilation.program())


def _narrowed(found: _Found, search: _Search, check: Check) -> Culprit:
    count = RewriteLimit(partial=True)
    whole, _ = _rerun(found, [count])
    good, bad = 0, count.count
    if bad == 0 or _fails(found, 0, check) is not False:
        before, after = _difference(found.unit.module, whole)
        return Culprit(search.stage, search.run, pass_text(found.pass_), found.problem, None, before, after)
    while bad - good > 1:
        middle, failed = _probe(found, good, bad, check)
        if middle is None:
            break
        good, bad = (good, middle) if failed else (middle, bad)
    last = RewriteLimit(bad, partial=True)
    after_module, _ = _rerun(found, [last])
    before_module, _ = _rerun(found, [RewriteLimit(bad - 1, partial=True)])
    before, after = _difference(before_module, after_module)
    named = re.sub(r"^rewrite \d+: \S+ \(stage \w+\): ", "", last.last or "")
    return Culprit(search.stage, search.run, pass_text(found.pass_), found.problem, (bad, named), before, after)


def _probe(found: _Found, good: int, bad: int, check: Check) -> tuple[int | None, bool]:
    """Return a number of rewrites between the two, near the middle, with which the pass can run, and whether the result then fails."""
    middle = (good + bad) // 2
    for number in sorted(range(good + 1, bad), key=lambda n: abs(n - middle)):
        failed = _fails(found, number, check)
        if failed is not None:
            return number, failed
    return None, False


def _fails(found: _Found, limit: int, check: Check) -> bool | None:
    """Return whether the check fails after so many rewrites of the pass; None if the pass cannot stop there."""
    try:
        module, weights = _rerun(found, [RewriteLimit(limit, partial=True)])
        illegal = _illegality(module)
        if illegal is not None:
            return True if found.illegal else None
        return check(Unit(module, weights, found.unit.target)) is not None
    except Error:
        return None


def _illegality(module: ModuleOp) -> str | None:
    """Return what is wrong with IR that breaks the rules of its ops, which no check can say anything of."""
    try:
        verify(module)
    except Error as error:
        return f"the IR is not legal: {str(error).splitlines()[0]}"
    return None


def _rerun(found: _Found, instruments: Sequence[Watcher]) -> tuple[ModuleOp, WeightStore]:
    unit = Unit(found.unit.module.clone(), found.unit.weights.copy(), found.unit.target)
    run_pass(found.pass_, unit, instruments)
    return unit.module, unit.weights


def _difference(before: ModuleOp, after: ModuleOp) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return differing_lines(print_op(before), print_op(after))


def differing_lines(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines that only one of two texts has; values are numbered anew in each, so their numbers do not count."""
    old, new = before.splitlines(), after.splitlines()
    plain = [[re.sub(r"%\d+", "%", line) for line in lines] for lines in (old, new)]
    gone: list[str] = []
    come: list[str] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, *plain, autojunk=False).get_opcodes():
        if kind != "equal":
            gone.extend(old[a:b])
            come.extend(new[c:d])
    return tuple(map(str.strip, gone[:MAX_LINES])), tuple(map(str.strip, come[:MAX_LINES]))

"""Finds the step of the native engine, and in it the first rewrite, after which a program computes other numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from numpy.typing import NDArray

from ttc.accuracy.distances import compare
from ttc.comparison.engines import compared_program
from ttc.comparison.reference_outputs import exactness_of
from ttc.debug.bisect import Culprit, differing_lines
from ttc.debug.bisect_checks import NumbersKept
from ttc.dialects.core.records import record
from ttc.dialects.core.watching import Named, Report, StepInstrument, Subject
from ttc.instruments.base import NATIVE, PassWatcher
from ttc.instruments.limit import RewriteLimit
from ttc.runtime.arguments import inputs_of
from ttc.runtime.cpu import available_cores
from ttc.runtime.engines.base import Engine
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.engines.table import engine_named
from ttc.runtime.executor import Executor
from ttc.runtime.netlists import Netlists
from ttc.runtime.program import Plans, Program

Outputs = Mapping[tuple[str, str], NDArray]
"""Values by program and output."""


class _TextAfter(PassWatcher):
    """Keeps what a graph is after one run of a step.  run: such as `fuse-regions@1`."""

    def __init__(self, run: str) -> None:
        super().__init__()
        self._wanted = run
        self.text = ""

    def after(self, pass_: Named, unit: Subject, report: Report) -> None:
        if self.run == self._wanted:
            self.text = unit.text()


@record
class PlanSearch:
    """Looks into the native engine once every pass of the compiler kept the numbers.

    Args:
        numbers: the check of the passes, whose inputs and bound are used.
    """

    numbers: NumbersKept

    def __call__(self, program: Program) -> Culprit | None:
        """Return the step of the native engine that breaks a program; None if both engines agree.  Raises what runs do."""
        expected = self._outputs(program, ReferenceEngine())
        count = RewriteLimit(partial=True)
        problem = self._problem(program, expected, [count])
        if problem is None:
            return None
        if self._problem(program, expected, [RewriteLimit(0, partial=True)]) is not None:
            return _lowering_at_fault(program, self._inputs(program), problem)
        good, bad = 0, count.count
        while bad - good > 1:
            middle = (good + bad) // 2
            fails = self._problem(program, expected, [RewriteLimit(middle, partial=True)]) is not None
            good, bad = (good, middle) if fails else (middle, bad)
        return self._culprit(program, expected, bad, problem)

    def _culprit(self, program: Program, expected: Outputs, bad: int, problem: str) -> Culprit:
        last = RewriteLimit(bad, partial=True)
        self._problem(program, expected, [last])
        named = re.match(r"rewrite \d+: (\S+) \(stage \w+\): (.*)", last.last or "", re.DOTALL)
        run, what = ("", "") if named is None else (named[1], named[2])
        texts = [_TextAfter(run), _TextAfter(run)]
        for limit, text in zip((bad - 1, bad), texts, strict=True):
            self._problem(program, expected, [RewriteLimit(limit, partial=True), text])
        before, after = differing_lines(*(text.text for text in texts))
        return Culprit(NATIVE, run, run.partition("@")[0], problem, (bad, what), before, after)

    def _problem(self, program: Program, expected: Outputs, instruments: Sequence[PassWatcher]) -> str | None:
        """Return the first output that is out of bound, with figures; None if there is none."""
        for instrument in instruments:
            instrument.stage = NATIVE
        found = self._outputs(program, _native(instruments))
        exactness = exactness_of(program.description.options, [str(array.dtype) for array in expected.values()])
        for (_, name), value in expected.items():
            figures = compare(found[_, name], value, exactness)
            within = figures.within if self.numbers.rtol is None else figures.relative_l2 <= self.numbers.rtol
            if not within:
                return f"output '{name}': {figures}"
        return None

    def _outputs(self, program: Program, engine: Engine) -> Outputs:
        """Return what the programs give that there are inputs for, on an engine."""
        with Executor(_on(program, engine)) as session:
            given = self._inputs(program)
            return {(name, key): value for name, arrays in given.items() for key, value in session.run(arrays, name).items()}

    def _inputs(self, program: Program) -> dict[str, dict[str, NDArray]]:
        """Return the inputs of the check, by program."""
        found: dict[str, dict[str, NDArray]] = {}
        for name, arrays in self.numbers.inputs.items():
            if name in program.netlists.surface.programs:
                wanted = {argument.name for argument in inputs_of(program.entry(name))}
                found[name] = {key: value for key, value in arrays.items() if key in wanted}
        return found


def _lowering_at_fault(program: Program, inputs: Mapping[str, Mapping[str, NDArray]], problem: str) -> Culprit:
    """Return the op whose kernel is wrong, as far as it is wrong by itself: no rewrite has any part in it."""
    compared, found = compared_program(program, _native(()))
    with Executor(compared) as session:
        for name, arrays in inputs.items():
            session.run(arrays, name)
    wrong = tuple(f"{' + '.join(finding.ops)}: {finding.kernel or 'no kernel'}: {finding.figures}" for finding in found.wrong)
    return Culprit(NATIVE, "lower@1", "lower", problem, None, (), wrong)


def _native(instruments: Sequence[StepInstrument]) -> Engine:
    return engine_named("native", available_cores(), instruments=instruments)


def _on(program: Program, engine: Engine) -> Program:
    """Return the program on another engine."""
    netlists = Netlists(lambda: program.netlist, program.description, joins=engine.joins_graphs)
    return replace(program, netlists=netlists, plans=Plans(engine, netlists, program.constants))

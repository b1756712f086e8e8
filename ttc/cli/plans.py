"""What `ttc run` shows of the native engine's plans, and of the steps that make them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ttc.cli.console import Console
from ttc.dialects.core.errors import Error
from ttc.options import RunOptions, WatchOptions

if TYPE_CHECKING:
    from ttc.dialects.core.watching import StepInstrument
    from ttc.instruments.timing import Timing
    from ttc.runtime.executor import Executor


@dataclass
class PlanWatch:
    """The instruments of the engine's steps that options ask for; none of their modules is loaded if there are none.

    Args:
        shown: whether the plans are printed.
    """

    console: Console
    options: WatchOptions
    shown: bool
    instruments: list[StepInstrument] = field(default_factory=list)
    timing: Timing | None = None

    def choose(self, options: RunOptions) -> None:
        """Make the instruments.  Raises E0101 for an engine that has no steps, and as `step_instruments` does."""
        watch = self.options
        asked = watch.print_before or watch.print_after or watch.remarks or watch.stats or watch.timing or watch.rewrite_limit is not None
        if (asked or self.shown) and (options.engine != "native" or options.exact):
            raise Error("E0101", "only the native engine makes plans in steps", hint="leave out --exact and --engine")
        if not asked:
            return
        from ttc.instruments.base import NATIVE
        from ttc.instruments.chosen import step_instruments
        from ttc.instruments.timing import Timing

        found = step_instruments(watch, self.console.asked)
        for watcher in found:
            watcher.stage = NATIVE
        self.instruments.extend(found)
        if watch.timing is not None:
            self.timing = Timing(count_ops=True)
            self.instruments.append(self.timing)

    def report(self, executor: Executor) -> None:
        """Print plans, and what the instruments found, beside the result."""
        from ttc.runtime.engines.base import PrintedPlan

        for watcher in self.instruments:
            watcher.finish()
        for graph in executor.program.netlists.executed.graphs if self.shown else ():
            plan = executor.program.plans[graph]
            text = plan.text() if isinstance(plan, PrintedPlan) else f"graph '{graph}' is left to the reference engine"
            self.console.asked(text)
        if self.instruments:
            from ttc.cli.watching import report

            stages = [] if self.timing is None else self.timing.stages
            report(self.console, self.options, self.instruments, stages, note=True)

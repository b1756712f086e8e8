"""The instruments that options ask for; the module of each is loaded if it is asked for, as most compilations have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ttc.inputs.files import require_folder, require_input, require_output
from ttc.instruments.base import PassPattern, PassWatcher
from ttc.options import DebugOptions, WatchOptions
from ttc.passes.base import Instrument


def chosen_instruments(options: DebugOptions, say: Callable[[str], None], *, partial: bool = False) -> list[Instrument]:
    """Return instruments in the order in which they must watch: what refuses rewrites first, what writes reports last.

    Args:
        say: takes texts of any number of lines.
        partial: a limit of rewrites counts those, too, that later passes count on.
    Raises: E0101 for patterns that no pass matches, E0103 for places that cannot be written.
    """
    found: list[Instrument] = [*step_instruments(options, say, locations=options.print_locations, partial=partial)]
    if options.check_numerics is not None:
        from ttc.instruments.gradients import GradientCheck
        from ttc.instruments.numerics import NumericCheck

        bundle = None if options.check_numerics == "-" else require_input(Path(options.check_numerics))
        found += [GradientCheck(bundle), NumericCheck(bundle, say=say)]
    if options.dump is not None:
        from ttc.instruments.dump import Dump

        require_folder(options.dump)
        found.append(Dump(options.dump))
    return found


def step_instruments(
    options: WatchOptions, say: Callable[[str], None], *, locations: bool = False, partial: bool = False
) -> list[PassWatcher]:
    """Return instruments that can watch passes as well as steps of the native engine, in the order in which they must watch.

    Args and Raises: as for `chosen_instruments`; locations: print source names of ops with the IR.
    """
    found: list[PassWatcher] = []
    if options.rewrite_limit is not None:
        from ttc.instruments.limit import RewriteLimit

        found.append(RewriteLimit(options.rewrite_limit, say, partial=partial))
    if options.print_before or options.print_after:
        from ttc.instruments.printing import Printing

        before, after = patterns(options.print_before), patterns(options.print_after)
        found.append(Printing(say, before, after, unchanged=options.print_unchanged, locations=locations))
    if options.remarks:
        from ttc.instruments.remarks import Remarks

        found.append(Remarks(say, patterns(options.remarks)))
    if options.stats:
        from ttc.instruments.statistics import Statistics

        found.append(Statistics())
    if options.timing is not None and options.timing != "-":
        require_output(Path(options.timing))
    return found


def patterns(texts: Sequence[str]) -> list[PassPattern]:
    """Return the patterns of these texts, each of which a pass or stage matches.  Raises E0101."""
    return [PassPattern(text).require_known() for text in texts]

"""Options of the backend: those of compiling and of running that make sense for a graph in memory, and its own."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Collection, Mapping
from typing import Any

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.inputs.files import require_folder
from ttc.loading import OF_RUNS, exact_of
from ttc.options import CompileOptions, DebugOptions, RunOptions, resolve
from ttc.passes.base import Instrument
from ttc.process.platform import require_supported
from ttc.settings.option_values import truth
from ttc.settings.records import Options, settings

_OF_FILES = frozenset(("to", "from_", "weights", "shape", "batch", "values"))
"""Options of compiling that go with a model file: a graph's sizes are those of its inputs."""
_OF_COMMANDS = frozenset(("timing", "stats"))
"""Options of debugging that are reported when a command ends."""
"""Options of running that go with a program in memory."""
_FALLBACK = "fallback"


@record
class Settings:
    """How graphs are compiled and run.

    Args:
        compile, debug, run: with the variables TTC_* where an option was not given.
        fallback: whether a graph that cannot be compiled runs in PyTorch.
    """

    compile: CompileOptions
    debug: DebugOptions
    run: RunOptions
    fallback: bool = True

    def instruments(self, graph: str) -> list[Instrument]:
        """Return what watches the compilation of the graph of that name; dumps go to a folder of that name.  Raises E0101, E0103."""
        from ttc.instruments.chosen import chosen_instruments

        debug = self.debug
        if debug.dump is not None:
            require_folder(debug.dump).mkdir(exist_ok=True)
            debug = dataclasses.replace(debug, dump=debug.dump / graph)
        return chosen_instruments(debug, lambda text: print(text, file=sys.stderr))


def read_settings(given: Mapping[str, Any] | None, mode: str | None = None) -> Settings:
    """Return the settings that `options` of torch.compile ask for.  Raises E0101, E0104."""
    require_supported()
    if mode is not None:
        raise Error("E0101", f"the backend has no mode '{mode}'", hint="see its options: format, precision, effort")
    of_compiling = _names(CompileOptions) - _OF_FILES
    of_debugging = _names(DebugOptions) - _OF_COMMANDS
    known = {*of_compiling, *of_debugging, *OF_RUNS, _FALLBACK}
    given = dict(given or {})
    for name in given:
        if name not in known:
            raise Error("E0101", f"the backend has no option '{name}'", hint=nearest(str(name), known))

    def part(names: Collection[str]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if name in names}

    running = resolve(RunOptions, part(OF_RUNS), os.environ)
    exact_of(running)
    compiling = resolve(CompileOptions, part(of_compiling), os.environ)
    return Settings(compiling, resolve(DebugOptions, part(of_debugging), os.environ), running, _truth(given.get(_FALLBACK, True)))


def _truth(value: Any) -> bool:
    try:
        return truth(value)
    except ValueError as error:
        raise Error("E0101", f"option '{_FALLBACK}' cannot be {value!r}", hint=str(error)) from None


def _names(kind: type[Options]) -> set[str]:
    return {item.name for item, _ in settings(kind)}

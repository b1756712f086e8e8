"""Options of the backend: those of compiling and of running that make sense for a graph in memory, and its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ttc.dialects.core.errors import Error, nearest
from ttc.machine import require_supported
from ttc.option_values import truth
from ttc.options import CompileOptions, RunOptions, resolve, settings

_OF_FILES = frozenset(("to", "from_", "weights", "shape", "batch", "values"))
"""Options of compiling that go with a model file: a graph's sizes are those of its inputs."""
_OF_RUNS = ("engine", "exact", "stochastic_rounding", "threads")
"""Options of running that go with a program in memory."""
_FALLBACK = "fallback"


@dataclass(frozen=True)
class Settings:
    """How graphs are compiled and run.

    Args:
        compile, run: with the variables TTC_* where an option was not given.
        fallback: whether a graph that cannot be compiled runs in PyTorch.
    """

    compile: CompileOptions
    run: RunOptions
    fallback: bool = True


def read_settings(given: Mapping[str, Any] | None, mode: str | None = None) -> Settings:
    """The settings that `options` of torch.compile ask for.  Raises E0101, E0104."""
    require_supported()
    if mode is not None:
        raise Error("E0101", f"the backend has no mode '{mode}'", hint="see its options: format, precision, effort")
    of_compiling = {item.name for item, _ in settings(CompileOptions)} - _OF_FILES
    known = {*of_compiling, *_OF_RUNS, _FALLBACK}
    given = dict(given or {})
    for name in given:
        if name not in known:
            raise Error("E0101", f"the backend has no option '{name}'", hint=nearest(str(name), known))
    compile_options = resolve(CompileOptions, {name: value for name, value in given.items() if name in of_compiling}, os.environ)
    run_options = resolve(RunOptions, {name: value for name, value in given.items() if name in _OF_RUNS}, os.environ)
    if run_options.stochastic_rounding is not None and not run_options.exact:
        raise Error("E0101", "option 'stochastic_rounding' is arithmetic of the device", hint="add exact=True")
    try:
        return Settings(compile_options, run_options, truth(given.get(_FALLBACK, True)))
    except ValueError as error:
        raise Error("E0101", f"option '{_FALLBACK}' cannot be {given[_FALLBACK]!r}", hint=str(error)) from None

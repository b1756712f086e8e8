"""Opening archives for running: what `ttc.load` gives, without anything of the compiler."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttc.dialects.core.errors import Error
from ttc.process.platform import require_supported
from ttc.settings.records import OWN_VARIABLES, PREFIX, made
from ttc.settings.run_options import RunOptions

if TYPE_CHECKING:
    from ttc.dialects.core.watching import StepInstrument
    from ttc.runtime.engines.table import Exact
    from ttc.runtime.executor import Executor
    from ttc.runtime.program import Program
    from ttc.settings.loop_options import LoopOptions

OF_RUNS = ("engine", "exact", "stochastic_rounding", "threads")
"""Fields of RunOptions that executors, devices of pipelines and the backend of `torch.compile` take, too."""


def load(
    path: str | os.PathLike[str],
    threads: int | None = None,
    *,
    options: RunOptions | None = None,
    precompiled: str | os.PathLike[str] | None = None,
    on_compile: Callable[[int, int], None] | None = None,
    instruments: Sequence[StepInstrument] = (),
    **option_fields: Any,
) -> Executor:
    """Open an archive for running; use it as a context manager, or close it.

    Args:
        path: of the archive.
        threads: CPU threads; default: variable TTC_THREADS, else all that the process may use.
        precompiled: a folder that `ttc compile --precompile-dir` filled: machine code from there is executed.
        on_compile: called with (kernels compiled, kernels to compile) where any have to be; from several threads.
        instruments: what watches the native engine make its plans, in steps with names; plans that were kept are made anew.
        options, option_fields: as in `compile`, of RunOptions; exact=True computes as the device does.
    Raises: E0101, E0102, E06xx, E07xx.
    """
    require_supported()
    found = options_for(RunOptions, options, {"threads": threads, **option_fields})
    from ttc.runtime.loader import load as load_archive

    exact, engine = exact_of(found), chosen_engine(found)
    if exact is not None or engine == "reference":
        if precompiled is not None:
            raise Error("E0101", "machine code is for the native engine", hint="leave out --precompiled")
        return load_archive(Path(path), engine=engine, threads=found.threads, exact=exact)
    from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders

    kernels = KernelFolders(None if precompiled is None else Path(precompiled), told=on_compile)
    return load_archive(Path(path), engine=engine, threads=found.threads, kernels=kernels, instruments=instruments)


def exact_of(options: RunOptions | LoopOptions) -> Exact | None:
    """Return the device's arithmetic if it was asked for.  Raises E0101 for its stochastic rounding alone."""
    if not options.exact:
        if options.stochastic_rounding is not None:
            raise Error("E0101", "stochastic rounding is arithmetic of the device", hint="add --exact; in Python exact=True")
        return None
    from ttc.runtime.engines.table import Exact

    return Exact(options.stochastic_rounding)


def on_engine(program: Program, options: RunOptions) -> Program:
    """Return a program on the engine and threads, and with the arithmetic, that options choose.  Raises E0101."""
    exact, engine = exact_of(options), chosen_engine(options)
    if exact is None and engine is None and options.threads is None:
        return program
    from ttc.runtime.cpu import checked_threads
    from ttc.runtime.engines.table import engine_named

    return program.on(engine_named(engine, checked_threads(options.threads), exact))


def chosen_engine(options: RunOptions | LoopOptions) -> str | None:
    """Return the engine that somebody chose; None for the one that fits the other options."""
    return options.engine if "engine" in options.given else None


def options_for(kind: type[Any], options: Any, fields: Mapping[str, Any]) -> Any:
    """Return the options given, changed by keywords; without options, keywords over TTC_* variables.  Raises E0101."""
    if options is None:
        if all(name in OWN_VARIABLES for name in os.environ if name.startswith(PREFIX)):
            return made(kind, fields)  # without all other options, which take longer to load than a small program
        from ttc.options import resolve

        return resolve(kind, fields, os.environ)
    if not isinstance(options, kind):
        raise Error("E0101", f"options are {type(options).__name__}, not {kind.__name__}")
    explicit = {name: value for name, value in fields.items() if value is not None}
    changed = made(kind, explicit)
    return dataclasses.replace(options, given=options.given | changed.given, **{name: getattr(changed, name) for name in explicit})

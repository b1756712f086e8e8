"""From an archive to a session that runs it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ttc.dialects.core.errors import Error
from ttc.runtime.archive import Archive, called_function, open_archive
from ttc.runtime.cpu import checked_threads, starting_threads
from ttc.runtime.engines.base import Engine
from ttc.runtime.engines.table import Exact, engine_named
from ttc.runtime.executor import Executor
from ttc.runtime.kept import recall, remember
from ttc.runtime.manifest import signatures
from ttc.runtime.program import Program, build_program
from ttc.runtime.read_file import in_file
from ttc.runtime.tracing import span

if TYPE_CHECKING:
    from ttc.dialects.core.watching import StepInstrument
    from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders


def load(
    path: str | os.PathLike[str],
    *,
    engine: str | None = None,
    threads: int | None = None,
    exact: Exact | None = None,
    kernels: KernelFolders | None = None,
    instruments: Sequence[StepInstrument] = (),
) -> Executor:
    """Open an archive, verify all of it, and start a session.

    Args:    engine: name of the engine that runs it; None: the native one, or the reference where the device's arithmetic is asked for.
             threads: that it may use, at most 4 a CPU, None for one a core; exact: compute as the device does.
             kernels: where the native engine finds and keeps machine code; None: in the user's cache.
             instruments: what watches the native engine make plans, which are then made anew though they are kept.
    Raises:  E0102, E0701 to E0704 for the file; E06xx for its netlist; E0803 for an unknown engine; E0101 for another number of threads.
    """
    with span("load", os.path.basename(path)):
        return Executor(load_program(path, engine=engine, threads=threads, exact=exact, kernels=kernels, instruments=instruments))


@starting_threads()
def load_program(
    path: str | os.PathLike[str],
    *,
    engine: str | None = None,
    threads: int | None = None,
    exact: Exact | None = None,
    kernels: KernelFolders | None = None,
    instruments: Sequence[StepInstrument] = (),
) -> Program:
    """Open an archive, verify all of it, and give the program it holds, its plans made.  Raises as `load` does."""
    chosen = engine_named(engine, checked_threads(threads), exact, kernels, instruments)
    archive = open_archive(path, threads=threads)
    kept = recall(archive, chosen)
    if kept is not None:
        return replace(kept, check=archive.check, texts=archive.debug)
    program = checked_program(archive, chosen)
    program.prepare()
    remember(program, archive, chosen)
    return replace(program, check=archive.check)


def checked_program(archive: Archive, engine: Engine) -> Program:
    """Return the program of a verified archive.

    Raises E06xx for its netlist, E0703 for a manifest that does not fit it, E0104 as `sources`."""
    netlist, tensors = archive.netlist(), archive.sources()
    with in_file(archive.path):
        if called_function(netlist, archive.manifest.description) is not None:
            raise Error("E0703", "its netlist calls a function of Python, which no archive may")
        if archive.manifest.target != netlist.chip.target or archive.manifest.programs != signatures(netlist):
            raise Error("E0703", "the manifest's target or programs differ from the netlist's")
        return build_program(netlist, archive.manifest.description, tensors, engine=engine, texts=archive.debug)

"""The `ttc` command: finds the command asked for, and turns every failure into one message and an exit status.

Status: 0 done, 1 a comparison failed, 2 bad input, 3 a bug of ttc, 130 interrupted, 141 the reader of our output went away.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper

import click

import ttc
from ttc.cli.console import Console
from ttc.cli.room import no_room, room_for_libraries
from ttc.dialects.core.errors import Error, nearest
from ttc.runtime.cpu import starting_threads

COMMANDS = (
    *("compile", "export", "run", "generate", "train", "bench", "check", "bisect", "info", "targets", "opt", "diff", "repro", "reduce"),
    *("explain", "passes", "tune-precision", "netlist", "perf", "trace", "view", "cache", "doctor"),
)
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "cannot create shared object descriptor")
"""What the dynamic linker says where there is no memory for a library."""
EXIT_COMPARISON, EXIT_INPUT, EXIT_BUG, EXIT_INTERRUPTED, EXIT_PIPE = 1, 2, 3, 130, 141


class Commands(click.Group):
    """Loads a command's module when the command is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"ttc.cli.{cmd_name.replace('-', '_')}").command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise Error("E0101", f"there is no command '{args[0]}'", hint=nearest(args[0], COMMANDS))
        return super().resolve_command(ctx, args)


@click.group("ttc", cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(ttc.__version__, "-V", "--version", message="ttc %(version)s")
def group() -> None:
    """Compile PyTorch, ONNX and TensorFlow models for tiled dataflow accelerators and the CPU, and run them.

    Options can also be set by variables (TTC_TARGET=host) and by a TOML file (--config FILE).
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.  arguments: default those of the process."""
    console = Console()
    _prepare_streams()
    try:
        return _guarded(list(sys.argv[1:] if arguments is None else arguments), console)
    except BrokenPipeError:
        _silence_stdout()
        return EXIT_PIPE


def _prepare_streams() -> None:
    """Names that the terminal's encoding lacks are escaped; a stream that the caller closed goes nowhere."""
    sys.stdout = sys.stdout or open(os.devnull, "w")
    sys.stderr = sys.stderr or open(os.devnull, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _guarded(arguments: list[str], console: Console) -> int:
    try:
        with console.warnings(), room_for_libraries(), starting_threads():
            status = _invoke(arguments, console)
        console.flush()
        return status
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, Exception) as error:
        if _is_interrupt(error):
            console.error("interrupted")
            return EXIT_INTERRUPTED
        return _report(_told(error), console)


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether an interrupt led to the error: Python and libraries put errors of their own in its place, as `__set_name__` does."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt | click.Abort):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _told(error: BaseException) -> Error:
    """Return what ended a command, as an error of ours."""
    match error:
        case Error():
            return error
        case click.ClickException():
            return _as_error(error)
        case MemoryError():
            return no_room("something that this needs does not fit")
        case ImportError():
            return _unloadable(error)
        case OSError():
            return Error("E0104", f"the system refused: {error}")
        case _:
            return Error("E0901", f"internal error: {type(error).__name__}: {error}")


def _invoke(arguments: list[str], console: Console) -> int:
    try:
        with group.make_context("ttc", arguments or ["--help"], obj=console) as ctx:
            status = group.invoke(ctx)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return status if isinstance(status, int) else 0


def _unloadable(error: ImportError) -> Error:
    """Return a library that the system cannot load for want of memory is no bug; all others are."""
    if any(sign in str(error).lower() for sign in _NO_MEMORY):
        return no_room(f"a library cannot be loaded: {error}")
    return Error("E0901", f"internal error: {type(error).__name__}: {error}")


def _as_error(error: click.ClickException) -> Error:
    """Return a usage error of click as one of ours."""
    if isinstance(error, click.NoSuchOption):
        close = nearest(error.option_name, error.possibilities or ())
        return Error("E0101", f"there is no option '{error.option_name}'", hint=close or _usage(error))
    hint = _usage(error) if isinstance(error, click.UsageError) else None
    return Error("E0101", error.format_message().rstrip("."), hint=hint)


def _usage(error: click.UsageError) -> str:
    return f"see {error.ctx.command_path} --help" if error.ctx is not None else "see ttc --help"


def _report(error: Error, console: Console) -> int:
    console.error(str(error))
    _drop_unwritten()
    if console.verbose:
        console.error(traceback.format_exc().rstrip())
    if error.code != "E0901":
        return EXIT_INPUT
    more = "" if console.verbose else "; -v shows where it happened"
    console.error(f"hint: this is a bug in ttc {ttc.__version__}: please report it with the command line and the model{more}")
    return EXIT_BUG


def _drop_unwritten() -> None:
    """Write what stdout still buffers, or let it go where it cannot be written: the error has been told."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence_stdout()


def _silence_stdout() -> None:
    """Let the interpreter's last flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

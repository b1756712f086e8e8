"""The command `ttc`, and `python -m ttc`: a process for one command."""

import gc
import os
import sys

from ttc.process.interrupts import Interrupts

TYPE_CHECKING = False  # type checkers know the name: nothing is loaded before interrupts are taken
if TYPE_CHECKING:
    from typing import NoReturn

MADE_BEFORE_SEARCH = 100_000
"""How many more objects are made than freed before Python searches for cyclic garbage; its own default is 700."""

_PROFILE = "ttc.profiler.variable"


def run() -> "NoReturn":
    """Run the command line of this process, and end the process with its exit status.

    The process ends at once: tearing down modules and IR, and waiting for threads, would give nothing back that does not go with it, and
    would be interrupted with a traceback.
    """
    interrupts = Interrupts()
    interrupts.take()
    try:
        status = status_of(interrupts)
        interrupts.end()
    except BaseException as error:  # before the command line was there to tell of it
        status = _told(error)
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)
    os._exit(128 + interrupts.number if interrupts.number else status)


def status_of(interrupts: Interrupts) -> int:
    """Run the command line of this process; returns the exit status.

    What a command makes, modules and IR, lives about as long as the process.  Looking for cyclic garbage in it would cost a short command
    a sixth of its time; so that is done seldom.
    """
    gc.set_threshold(MADE_BEFORE_SEARCH, 50, 100)
    from ttc.cli import main  # made with the threshold above

    interrupts.begin()
    status = main()
    if _PROFILE in sys.modules:  # loaded where TTC_PROFILE is set; this process ends without what is to be done at exit
        sys.modules[_PROFILE].finish()
    return status


def _told(error: BaseException) -> int:
    """Say what ended the process before the command line was there; returns the exit status."""
    match error:
        case KeyboardInterrupt():
            os.write(2, b"interrupted\n")
            return 130
        case MemoryError():
            os.write(2, b"error[E0104]: there is not enough memory to begin\n")
            return 2
        case _:
            import traceback

            traceback.print_exception(error)
            return 3


def _flush(stream: object) -> None:
    """Write out what is buffered, unless the other side is gone: `main` has told of that."""
    try:
        stream.flush()  # pyright: ignore[reportAttributeAccessIssue]
    except (OSError, ValueError, AttributeError):
        pass


if __name__ == "__main__":
    run()

"""The command `ttc`, and `python -m ttc`: a process for one command."""

import gc
import sys

MADE_BEFORE_SEARCH = 100_000
"""Objects that are made, more than go, before Python looks for cyclic garbage among them; its own default is 700."""


def run() -> int:
    """Run the command line of this process; returns the exit status.

    What a command makes, modules and IR, lives about as long as the process.  Looking for cyclic garbage in it would cost a short command
    a sixth of its time, half of that when all of it goes at the end; so that is done seldom, and not at the end.
    """
    gc.set_threshold(MADE_BEFORE_SEARCH, 50, 100)
    from ttc.cli import main  # made with the threshold above

    status = main()
    gc.freeze()
    return status


if __name__ == "__main__":
    sys.exit(run())

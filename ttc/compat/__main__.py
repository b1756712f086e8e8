"""`python -m ttc.compat SCRIPT [ARGUMENTS]`: run a script with ttc's modules of other projects' names."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

from ttc.compat import NAMES, install, is_installed
from ttc.dialects.core.errors import Error, warn

USAGE = "usage: python -m ttc.compat SCRIPT [ARGUMENTS]"


def main(arguments: Sequence[str]) -> int:
    """Run a script as `python SCRIPT` would, with its arguments; returns the exit status.

    Projects that are installed stay themselves, with a warning.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    script = arguments[0]
    try:
        if not os.path.isfile(script):
            raise Error("E0102", f"there is no script '{script}'")
        for name in NAMES:
            if is_installed(name):
                warn(f"{name} itself is installed: the script gets that one")
            else:
                install(name)
        sys.argv = list(arguments)
        sys.path[0] = os.path.dirname(os.path.abspath(script))
        runpy.run_path(script, run_name="__main__")
    except Error as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

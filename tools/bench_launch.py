"""Wall time and peak memory of one command, measured by a process so small that its own memory does not count.

    python bench_launch.py COMMAND ...

Prints a line of JSON behind whatever the command prints on stdout.  The peak that the kernel reports for a process begins with that of
the process that started it, so that a large one cannot measure a small one.
"""

import json
import os
import sys
import time


def main() -> None:
    """Run the tool; ends with the status of the command."""
    start = time.perf_counter()
    process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak_bytes": usage.ru_maxrss * 1024}))
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main()

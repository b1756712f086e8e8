"""Runs commands of ttc one after another, each in a process of its own with limits on memory and processor time.

Reads a list of argument lists as JSON from stdin; writes, for each, [exit status, seconds of processor time, MB of memory, stderr].
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path

import onnx  # noqa: F401 - read once for all commands

import ttc.compiler.driver  # noqa: F401
import ttc.importers.onnx  # noqa: F401
from ttc.cli.app import main

MEMORY_BYTES = 2 << 30
SECONDS = 20


def limited(arguments: list[str], said: str) -> None:
    """Become the command; what it says goes into that file."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout = open(os.devnull, "w")
    sys.stderr = open(said, "w")
    status = main(arguments)
    sys.stderr.flush()
    os._exit(status)


def outcome(arguments: list[str]) -> tuple[int, float, int, str]:
    """What became of one command."""
    with tempfile.NamedTemporaryFile() as said:
        child = os.fork()
        if child == 0:
            limited(arguments, said.name)
        _, status, used = os.wait4(child, 0)
        text = Path(said.name).read_text(errors="replace")
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, text


if __name__ == "__main__":
    json.dump([outcome(arguments) for arguments in json.load(sys.stdin)], sys.stdout)

"""Runs commands of ttc one after another, each in a process of its own with limits on memory and processor time.

Reads a list of argument lists as JSON from stdin; writes, for each, [exit status, seconds of processor time, MB of memory, stderr].
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import onnx
from onnx import TensorProto, helper

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


def load_modules() -> None:
    """Compile an op for both kinds of targets, so that each command finds the modules loaded that all of them need."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    model = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y]), ir_version=9)
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        onnx.save(model, f"{folder}/m.onnx")
        for target in ("host", "n150"):
            assert main(["compile", f"{folder}/m.onnx", "-o", f"{folder}/m.tti", "--target", target]) == 0


if __name__ == "__main__":
    load_modules()
    json.dump([outcome(arguments) for arguments in json.load(sys.stdin)], sys.stdout)

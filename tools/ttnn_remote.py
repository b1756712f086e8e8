"""TT-NN on a mock device in another process, as a module that exported programs import.

`Remote.module` stands for `ttnn`: every call of it is sent to `tools/ttnn_worker.py`, which runs in a Python of its own that has TT-NN.
Tensors have shapes and formats but no numbers: what comes back to the host is zero.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tests.ttc.exporters.ttnn.calls import Named, Opaque, call_text, result_text
from ttnn_elf import kernel_bytes
from ttnn_machines import Machine

WORKER = Path(__file__).with_name("ttnn_worker.py")
COMPILER = Path("runtime/sfpi/compiler/bin/riscv-tt-elf-g++")
"""The place where TT-NN looks for its compiler of kernels, inside its own folder."""
STUB = """#!/bin/sh
# In place of the compiler of kernels: every kernel is the same return, which a mock device never runs.
[ "$1" = --version ] && { echo "riscv-tt-elf-g++ (none) 15.1.0"; exit 0; }
previous= out= dependencies= kind=link
for word; do
  [ "$previous" = -o ] && out=$word
  [ "$previous" = -MF ] && dependencies=$word
  [ "$word" = -c ] && kind=compile
  previous=$word
done
[ -n "$dependencies" ] && echo "$out:" > "$dependencies"
[ -z "$out" ] && exit 0
if [ $kind = link ]; then cp "${0%/*}/kernel.elf" "$out"; else : > "$out"; fi
"""
DTYPES = {"float32": torch.float32, "uint32": torch.int32, "int32": torch.int32, "uint16": torch.int16, "uint8": torch.uint8}
"""What torch gets from TT-NN by the format of a tensor; other formats are bfloat16."""


class Refusal(Exception):
    """Raised for a call that TT-NN does not take, with its message."""


def install_stub(python: Path) -> None:
    """Put a compiler that compiles nothing where TT-NN looks for one.  Raises Refusal if there is one, which cards need."""
    command = [python, "-c", "import importlib.util; print(importlib.util.find_spec('ttnn').submodule_search_locations[0])"]
    folder = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    path = folder / COMPILER
    if path.exists() and path.read_bytes() != STUB.encode():
        raise Refusal(f"{path} is a compiler: give a Python whose TT-NN has none, as `make conformance-ttnn` sets one up")
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "kernel.elf").write_bytes(kernel_bytes())
    path.write_text(STUB)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@dataclass(eq=False)
class Remote:
    """A process that has TT-NN, with one mesh of mock devices.

    Args:
        python: that has TT-NN installed.
        machine: that the process believes it has.
        folder: of files that TT-NN reads and writes.
        answers: calls that TT-NN took, and what they gave, as text.
        calls: how many were made, transfers among them.
        left_out: names of functions that are counted, but not called.
    """

    python: Path
    machine: Machine
    folder: Path
    answers: list[tuple[str, str]] = field(default_factory=list)
    calls: int = 0
    freed: list[int] = field(default_factory=list)
    left_out: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        descriptor = self.folder / "machine.yaml"
        descriptor.write_text(self.machine.descriptor())
        variables = {
            "TT_METAL_MOCK_CLUSTER_DESC_PATH": str(descriptor),
            "TT_METAL_CACHE": f"{self.folder}/kernels/",
            "TT_LOGGER_LEVEL": "FATAL",
            "LOGURU_LEVEL": "ERROR",
        }
        self.log = open(self.folder / "worker.log", "w")
        self.process = subprocess.Popen(
            [self.python.absolute(), WORKER],
            cwd=self.folder,  # TT-NN writes lists of kernels where it runs
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, **variables},
        )
        rows, columns = self.machine.opened
        device, self.core_bytes = self.ask(do="open", rows=rows, columns=columns)
        self.device = Handle(self, device)
        self.module = Name(self, "ttnn")

    def ask(self, **request: Any) -> Any:
        """Send a request; returns the value of its answer.  Raises Refusal."""
        freed, self.freed = self.freed, []
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps({**request, "free": freed}) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Refusal(f"TT-NN's process has ended; its last lines are in {self.log.name}")
        answer = json.loads(line)
        if "refused" in answer:
            raise Refusal(answer["refused"])
        return answer["value"]

    def call(self, name: str, arguments: Sequence[Any], keywords: dict[str, Any], of: int | None = None) -> Any:
        """Call a function of TT-NN, or a method of an object."""
        sent = [encoded(value) for value in arguments]
        named = {key: encoded(value) for key, value in keywords.items()}
        self.calls += 1
        value = self.decoded(self.ask(do="call", name=name, arguments=sent, keywords=named, **({} if of is None else {"of": of})))
        if of is None:
            self.answers.append((call_text(name, arguments, keywords), result_text(value)))
        return value

    def decoded(self, value: Any) -> Any:
        """Return the value of an answer, with handles for objects."""
        if not isinstance(value, dict):
            return value
        if "object" in value:
            return Handle(self, value)
        ((kind, items),) = value.items()
        return {"list": list, "tuple": tuple}[kind](self.decoded(item) for item in items)

    def close(self) -> None:
        """End the process, and delete its kernels."""
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder / "kernels", ignore_errors=True)


@dataclass(eq=False)
class Name(Named):
    """A name of TT-NN: a module, a function, or a constant."""

    remote: Remote
    path: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Name(self.remote, f"{self.path}.{name}")

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self.path in self.remote.left_out:
            self.remote.calls += 1
            return None
        special = SPECIAL.get(self.path)
        if special is not None:
            return special(self.remote, *arguments, **keywords)
        return self.remote.call(self.path, arguments, keywords)


class Handle(Opaque):
    """An object of the other process.  facts: its number; of a tensor also shape, dtype, layout and memory."""

    def __init__(self, remote: Remote, facts: dict[str, Any]) -> None:
        self.remote, self.facts = remote, facts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **keywords: self.remote.call(name, arguments, keywords, self.facts["object"])

    def __del__(self) -> None:
        self.remote.freed.append(self.facts["object"])


@dataclass(frozen=True)
class Spread:
    """The way in which a tensor lies on a mesh.  parts: of a dimension; 1: every chip has all."""

    parts: int
    dim: int = 0


def encoded(value: Any) -> Any:
    """Return an argument for a request."""
    if isinstance(value, Name):
        return {"name": value.path}
    if isinstance(value, Handle):
        return {"object": value.facts["object"]}
    if isinstance(value, list | tuple):
        return {"list" if isinstance(value, list) else "tuple": [encoded(item) for item in value]}
    return {"float": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def from_torch(
    remote: Remote,
    tensor: torch.Tensor,
    *,
    dtype: Name,
    layout: Name,
    device: Handle | None = None,
    memory_config: Name | None = None,
    mesh_mapper: Spread | None = None,
) -> Handle:
    """Make a tensor of the shape of torch's on the host or the device."""
    parts = 1 if mesh_mapper is None else mesh_mapper.parts
    shape = list(tensor.shape)
    if parts > 1:
        dim = mesh_mapper.dim if mesh_mapper is not None else 0
        if shape[dim] % parts:
            raise Refusal(f"{shape[dim]} rows cannot be divided over {parts} devices")
        shape[dim] //= parts
    remote.calls += 1
    memory = None if device is None else encoded(memory_config)
    request = {"shape": shape, "dtype": dtype.path, "layout": layout.path, "memory": memory}
    return Handle(remote, remote.ask(do="make", device=remote.device.facts["object"], **request))


def to_torch(remote: Remote, tensor: Handle, *, mesh_composer: Spread | None = None) -> torch.Tensor:
    """Return zeros of the shape of a tensor."""
    parts = 1 if mesh_composer is None else mesh_composer.parts
    shape = list(tensor.facts["shape"])
    shape[0 if mesh_composer is None else mesh_composer.dim] *= parts
    remote.calls += 1
    return torch.zeros(shape, dtype=DTYPES.get(tensor.facts["dtype"], torch.bfloat16))


def _divided(remote: Remote, device: Handle, dim: int = 0) -> Spread:
    return Spread(remote.machine.chips, dim)


SPECIAL = {
    "ttnn.from_torch": from_torch,
    "ttnn.to_torch": to_torch,
    "ttnn.ShardTensorToMesh": _divided,
    "ttnn.ConcatMeshToTensor": _divided,
    "ttnn.ReplicateTensorToMesh": lambda remote, device: Spread(1),
}
"""Functions that know torch's tensors, which the other process does not."""

"""Processes that compile kernels: LLVM's memory, over 100 MB for a large program, goes when they end, and stays out of this process.

    with compilers(cpu, len(texts), threads) as object_code:
        data = object_code(text)                   # as `machine_code.object_code`, in any of the threads

Each reads modules of LLVM IR from its standard input, one after the other, and writes what became of them; it ends with its input.  What
it reads begins with a line of JSON: the folders of modules, and the CPU.  Where no such process can be had, as in a program that is not
Python's own, or one is lost, modules are compiled in this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import IO, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.features import Cpu

MANY = 8
"""The kernels for which one more process is worth its start: it takes a tenth of a second, of which half is LLVM's own."""
_SERVE = """import json, sys
head = json.loads(sys.stdin.buffer.readline())
sys.path[:] = head["path"]
from ttc.runtime.engines.native.codegen.compilers import serve
serve(head["arch"], head["features"])"""
_GOOD, _BAD = b"+", b"-"
_SIZE_BYTES = 8

ObjectCode: TypeAlias = Callable[[str], bytes]
"""Makes an object of a module of LLVM IR; raises E0901 if the module is not right."""


class _Lost(Exception):
    """A process ended before it had answered."""


class _Compiler:
    """One such process.  Raises OSError where none can be started."""

    def __init__(self, cpu: Cpu) -> None:
        command = [sys.executable, "-S", "-c", _SERVE]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self._head = json.dumps({"path": [_root(), *sys.path], "arch": cpu.arch, "features": sorted(cpu.features)}).encode() + b"\n"

    def object_code(self, text: str) -> bytes:
        """Return the object of a module.  Raises E0901 if it is not right, and _Lost."""
        given, taken = self._process.stdin, self._process.stdout
        assert given is not None  # they are pipes
        assert taken is not None
        data = text.encode()
        try:
            given.write(self._head + len(data).to_bytes(_SIZE_BYTES, "little") + data)
            given.flush()
            self._head = b""
            kind, found = taken.read(1), _read(taken)
        except (OSError, EOFError):
            raise _Lost from None
        if kind == _BAD:
            raise Error("E0901", found.decode())
        return found

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.communicate()


class _Compilers:
    """Processes that take turns, each started when it is first needed; this process, once one of them was lost.

    Args:
        count: the most of them.
    """

    def __init__(self, cpu: Cpu, count: int) -> None:
        self._cpu = cpu
        self._free: SimpleQueue[_Compiler | None] = SimpleQueue()
        for _ in range(count):
            self._free.put(None)
        self._started: list[_Compiler] = []
        self._lost = False

    def object_code(self, text: str) -> bytes:
        """Return the object of a module; called by any number of threads."""
        compiler = self._free.get()
        try:
            if self._lost:
                return _here(self._cpu)(text)
            if compiler is None:
                compiler = _Compiler(self._cpu)
                self._started.append(compiler)
            return compiler.object_code(text)
        except (OSError, _Lost):
            self._lost = True
            return _here(self._cpu)(text)
        finally:
            self._free.put(compiler)

    def close(self) -> None:
        """End all that were started."""
        for compiler in self._started:
            compiler.close()


@contextmanager
def compilers(cpu: Cpu, kernels: int, threads: int) -> Iterator[ObjectCode]:
    """Return what makes objects of so many modules, called by so many threads at a time.

    All are made in this process where LLVM is in it already; llvmlite alone, which writes IR, is not.
    """
    if "llvmlite.binding" in sys.modules or not can_start():
        yield _here(cpu)
        return
    found = _Compilers(cpu, max(1, min(threads, kernels // MANY)))
    try:
        yield found.object_code
    finally:
        found.close()


def can_start() -> bool:
    """Return whether this process is one of Python's own program, which starts another when it is run."""
    return not getattr(sys, "frozen", False) and os.path.basename(sys.executable or "").startswith("python")


def serve(arch: str, features: list[str]) -> None:
    """Compile what standard input has, until it ends.  Runs in the other process."""
    given, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what else is printed must not be among the answers
    object_code = _here(Cpu(arch, frozenset(features)))
    while True:
        try:
            text = _read(given).decode()
        except EOFError:
            return
        try:
            kind, found = _GOOD, object_code(text)
        except Error as error:
            kind, found = _BAD, error.message.encode()
        answers.write(kind + len(found).to_bytes(_SIZE_BYTES, "little") + found)
        answers.flush()


def _here(cpu: Cpu) -> ObjectCode:
    """Return what compiles in this process.  Raises E0104 where llvmlite is not installed."""
    try:
        from ttc.runtime.engines.native.codegen.machine_code import object_code
    except ImportError:
        raise Error("E0104", "kernels have to be compiled, and llvmlite is not installed", hint="pip install llvmlite") from None

    return lambda text: object_code(text, cpu)


def _read(stream: IO[bytes]) -> bytes:
    """Return the next bytes of a stream that are given with their count.  Raises EOFError where it ends."""
    size = int.from_bytes(_exactly(stream, _SIZE_BYTES), "little")
    return _exactly(stream, size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found


def _root() -> str:
    """Return the folder that holds the package `ttc`."""
    return os.path.dirname(os.path.abspath(sys.modules["ttc"].__path__[0]))

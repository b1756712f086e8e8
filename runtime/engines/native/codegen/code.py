"""From kernels to addresses: what an engine calls.

    code = compiled(kernels, host_cpu(), cache)      # Code; cache may be None
    code.address(kernel)                             # to call, as long as something refers to `code`

Kernels that the cache has are neither generated nor compiled, and LLVM is not imported.  The others are compiled as modules of their own,
each an entry of the cache: LLVM's time is that of the code in a module, and many modules keep all cores busy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from threading import BoundedSemaphore
from time import perf_counter
from typing import Protocol, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.garbage import uncollected
from ttc.dialects.core.records import record
from ttc.runtime.cpu import available_cores
from ttc.runtime.engines.native.codegen.compilers import ObjectCode, compilers
from ttc.runtime.engines.native.codegen.features import Cpu
from ttc.runtime.engines.native.codegen.image import map_code
from ttc.runtime.engines.native.codegen.linked_code import LinkedCode
from ttc.runtime.metrics import counter

Signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
"""The type of every kernel, for calls from Python, which release the GIL: (parameters, first task, task behind the last, scratch
memory).
"""
_HITS, _MISSES = counter("kernel_cache_hits"), counter("kernel_cache_misses")
_MADE, _SECONDS = counter("kernels_compiled"), counter("kernel_compile_seconds")

_WAITING = 3
"""The most modules for each thread that are written and not yet compiled: their texts are large."""

Told: TypeAlias = "Callable[[int, int], None]"


class Compilable(Protocol):
    """What can be compiled: `kernel.Kernel`."""

    @property
    def key(self) -> str:
        """A text that determines the code, but for the CPU and the version of the generator: equal keys, equal code."""
        ...

    @property
    def symbol(self) -> str:
        """Name of the function in the module."""
        ...

    def llvm_ir(self, cpu: Cpu) -> str:
        """Return the kernel's module for that CPU; called only if the kernel has to be compiled."""
        ...


class CodeStore(Protocol):
    """Where made code is kept: `cache.Cache`."""

    def get(self, key: str, cpu: Cpu) -> bytes | None:
        """Return what was put under the key for this CPU."""
        ...

    def put(self, key: str, cpu: Cpu, data: bytes) -> None:
        """Keep code under a key for this CPU, if that is possible."""
        ...


class CodeMemory(Protocol):
    """Executable memory that holds machine code."""

    def close(self) -> object:
        """Give the memory back to the system."""
        ...


class Linker(Protocol):
    """How an object becomes code in memory."""

    def linked(self, data: bytes) -> bytes:
        """Return the form of an object that is kept.  Raises E0901."""
        ...

    def mapped(self, pieces: Sequence[tuple[str, bytes]]) -> tuple[list[int], CodeMemory]:
        """Return the addresses of one function of each piece, which is given by name, and the memory they are in. Raises E0901, E0104."""
        ...


class OwnLinker:
    """Code is linked before it is kept, and mapped without LLVM."""

    def linked(self, data: bytes) -> bytes:
        """Link an object by our own linker; see `Linker`."""
        from ttc.runtime.engines.native.codegen.object_file import link

        return link(data).pack()

    def mapped(self, pieces: Sequence[tuple[str, bytes]]) -> tuple[list[int], CodeMemory]:
        """Put linked code into executable memory; see `Linker`."""
        image = map_code([LinkedCode.unpack(data) for _, data in pieces])
        try:
            return [known[symbol] for (symbol, _), known in zip(pieces, image.addresses, strict=True)], image
        except KeyError as error:
            raise Error("E0901", f"internal error: a piece of code has no function {error}") from None


@record
class Code:
    """Machine code of kernels, in memory.

    Args:
        addresses: of the kernels' functions, by the kernels' keys.
        symbols: names of the functions, likewise.
        memory: where they are; it lives as long as this object, and is given back by `close`, or with it.  Native threads that may still
                be in the code need it as long as they live; the end of the process leaves it to them.
        made: how many kernels had to be compiled.
    """

    addresses: Mapping[str, int]
    symbols: Mapping[str, str]
    memory: CodeMemory
    made: int = 0

    def address(self, kernel: Compilable) -> int:
        """Return the address of the kernel's function.  Raises KeyError if it was not among those compiled."""
        return self.addresses[kernel.key]

    def close(self) -> None:
        """Give the memory of the code back; no address may be used afterwards."""
        self.memory.close()


def compiled(
    kernels: Sequence[Compilable], cpu: Cpu, cache: CodeStore | None = None, linker: Linker | None = None, told: Told | None = None
) -> Code:
    """Compile kernels, or take their code from a cache.

    Args:
        kernels: at least one; those of one key are compiled once.
        cpu: what they may use.
        cache: where code is looked for and kept.
        linker: default: ours where it knows the architecture, else LLVM's.
        told: called with (kernels compiled, kernels to compile) after each of them, by any thread.
    Raises:  E0901 if a module is not right; E0104 if the system gives no executable memory, or llvmlite is not there when it is needed.
    """
    linker = linker or _linker_for(cpu)
    unique = {kernel.key: kernel for kernel in kernels}
    kept = {} if cache is None else {key: data for key in unique if (data := cache.get(key, cpu)) is not None}
    missing = [kernel for key, kernel in unique.items() if key not in kept]
    start = perf_counter()
    made = _made(missing, cpu, linker, told) if missing else {}
    _MADE.add(len(made))
    _SECONDS.add(perf_counter() - start)
    if cache is not None:
        _HITS.add(len(kept))
        _MISSES.add(len(missing))
        for key, data in made.items():
            cache.put(key, cpu, data)
    pieces = kept | made
    return mapped({key: (kernel.symbol, pieces[key]) for key, kernel in unique.items()}, cpu, linker, len(made))


def mapped(pieces: Mapping[str, tuple[str, bytes]], cpu: Cpu, linker: Linker | None = None, made: int = 0) -> Code:
    """Map code that is at hand in the form that is kept into executable memory.

    Args:
        pieces: by the kernels' keys, the name of the function, and its code in the form that is kept.
        made: how many of them had to be compiled.
    Raises:  E0901, E0104, as `compiled` does.
    """
    addresses, memory = (linker or _linker_for(cpu)).mapped(list(pieces.values()))
    return Code(dict(zip(pieces, addresses, strict=True)), {key: symbol for key, (symbol, _) in pieces.items()}, memory, made)


def _linker_for(cpu: Cpu) -> Linker:
    if cpu.arch == "x86-64":
        return OwnLinker()
    from ttc.runtime.engines.native.codegen.llvm_linker import LlvmLinker

    return LlvmLinker()


def _made(kernels: Sequence[Compilable], cpu: Cpu, linker: Linker, told: Told | None) -> dict[str, bytes]:
    """Return the kept form of each kernel's code, by key.  Modules are written here while others of them are being compiled."""
    numbers, threads = count(1), min(available_cores(), len(kernels))
    room = BoundedSemaphore(_WAITING * threads)

    def made(kernel: Compilable, text: str, object_code: ObjectCode) -> bytes:
        try:
            with _about(kernel):
                code = linker.linked(object_code(text))
        finally:
            room.release()
        if told is not None:
            told(next(numbers), len(kernels))
        return code

    with compilers(cpu, len(kernels), threads) as object_code, ThreadPoolExecutor(threads, "ttc-compile") as pool:
        waiting: dict[str, Future[bytes]] = {}
        with uncollected() as collect:
            for kernel in kernels:
                room.acquire()
                waiting[kernel.key] = pool.submit(made, kernel, _written(kernel, cpu), object_code)
                collect()  # what wrote the module refers to itself
        return {key: future.result() for key, future in waiting.items()}


def _written(kernel: Compilable, cpu: Cpu) -> str:
    with _about(kernel):
        return kernel.llvm_ir(cpu)


@contextmanager
def _about(kernel: Compilable) -> Iterator[None]:
    """Name the kernel in errors of what is inside; those that are none of ours are E0901."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        found = error if isinstance(error, Error) else Error("E0901", f"internal error: {type(error).__name__}: {error}")
        found.context = found.context or f"kernel {kernel.symbol}"
        raise found from error

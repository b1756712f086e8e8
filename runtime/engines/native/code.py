"""From kernels to addresses: what an engine calls.

    code = compiled(kernels, host_cpu(), cache)      # Compiled; cache may be None
    code.addresses[kernel.key]                       # to call, as long as `code` is referred to

A kernel is any object with `key`, `symbol` and `llvm_ir()` (protocol `Kernel`).  Those that the cache has are neither generated nor
compiled, and LLVM is not imported; the others are compiled one by one: LLVM's time is that of its code, not of its modules, and so each
is an entry of the cache of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.features import Cpu
from ttc.runtime.engines.native.image import Image, map_code
from ttc.runtime.engines.native.linked_code import LinkedCode

Signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
"""Of every kernel: (parameters, first task, task behind the last, scratch memory), for calls from Python; the GIL is released."""


class Kernel(Protocol):
    """What can be compiled."""

    @property
    def key(self) -> str:
        """A text that determines the code, but for the CPU and the version of the generator: equal keys, equal code."""
        ...

    @property
    def symbol(self) -> str:
        """Name of the function in the module."""
        ...

    def llvm_ir(self) -> str:
        """The module; asked for only if it has to be compiled."""
        ...


class Store(Protocol):
    """Where made code is kept: `cache.Cache`."""

    def get(self, key: str, cpu: Cpu) -> bytes | None:
        """What was put under the key for this CPU."""
        ...

    def put(self, key: str, cpu: Cpu, data: bytes) -> None:
        """Keep it, if that is possible."""
        ...


@dataclass(frozen=True)
class Compiled:
    """Machine code in memory.

    Args:
        addresses: of the kernels' functions, by the kernels' keys.
        image: the memory, which lives as long as this object; `close` gives it back earlier.
        made: how many kernels had to be compiled.
    """

    addresses: Mapping[str, int]
    image: Image
    made: int = 0

    def close(self) -> None:
        """No address may be used afterwards."""
        self.image.close()


def compiled(kernels: Sequence[Kernel], cpu: Cpu, cache: Store | None = None, outside: Mapping[str, int] | None = None) -> Compiled:
    """Code of kernels.

    Args:
        kernels: any number; those of one key are compiled once.
        cpu: what they may use.
        cache: where code is looked for and kept.
        outside: addresses of functions that kernels declare and call; default: none.
    Raises:  E0901 if a module is not right, or calls what is not given; E0104 if the system gives no executable memory.
    """
    unique = {kernel.key: kernel for kernel in kernels}
    pieces: dict[str, LinkedCode] = {}
    made = 0
    for key, kernel in unique.items():
        found = None if cache is None else _kept(cache, kernel, cpu)
        if found is None:
            found, made = _made(kernel, cpu), made + 1
            if cache is not None:
                cache.put(key, cpu, found.pack())
        pieces[key] = found
    image = map_code(list(pieces.values()), outside)
    addresses = {key: where[unique[key].symbol] for key, where in zip(pieces, image.addresses, strict=True)}
    return Compiled(addresses, image, made)


def _kept(cache: Store, kernel: Kernel, cpu: Cpu) -> LinkedCode | None:
    data = cache.get(kernel.key, cpu)
    if data is None:
        return None
    try:
        code = LinkedCode.unpack(data)
    except Error:
        return None
    return code if kernel.symbol in code.symbols else None


def _made(kernel: Kernel, cpu: Cpu) -> LinkedCode:
    from ttc.runtime.engines.native.machine_code import object_code
    from ttc.runtime.engines.native.object_file import link

    code = link(object_code(kernel.llvm_ir(), cpu))
    if kernel.symbol not in code.symbols:
        raise Error("E0901", f"internal error: a generated module has no function '{kernel.symbol}'")
    return code

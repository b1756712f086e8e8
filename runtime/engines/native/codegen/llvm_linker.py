"""Code in memory by LLVM's own linker: for architectures whose objects ours does not know.

What is kept is the object as it is; llvmlite has to be imported to map it.  LLVM believes what an object says: nothing may be given to it
that a cache has not found to be as it was written.
"""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.codegen.machine_code import target_machine


class LlvmMemory:
    """Executable memory that LLVM manages; given back by `close`, or when nothing refers to it any more."""

    def __init__(self, engines: list[llvm.ExecutionEngine]) -> None:
        self._engines = engines

    def close(self) -> None:
        """Give the memory back; no address may be used afterwards."""
        for engine in self._engines:
            engine.close()


class LlvmLinker:
    """The linker that keeps objects as they are, and links them each time they are mapped."""

    def linked(self, data: bytes) -> bytes:
        """Return the object as it is: LLVM links when it maps."""
        return data

    def mapped(self, pieces: Sequence[tuple[str, bytes]]) -> tuple[list[int], LlvmMemory]:
        """Put code into executable memory by LLVM; see `code.Linker`."""
        addresses, engines = list[int](), list[llvm.ExecutionEngine]()
        for symbol, data in pieces:
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(host_cpu()))
            engines.append(engine)
            engine.add_object_file(llvm.ObjectFileRef.from_data(data))
            engine.finalize_object()
            addresses.append(engine.get_function_address(symbol))
            if not addresses[-1]:
                raise Error("E0901", f"internal error: a piece of code has no function '{symbol}'")
        return addresses, LlvmMemory(engines)

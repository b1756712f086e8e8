"""What a kernel is: a recipe for one function of machine code."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class Kernel(ABC):
    """A kernel: frozen, with fields that shape the code, such as element types and register blocks; sizes come as words of each job.

    The text of its class and fields is its identity, in a plan and in the cache of compiled objects.  Modules of kernels load llvmlite
    only inside `emit`: with a warm cache it is not needed.
    """

    @abstractmethod
    def emit(self, f: Writer) -> None:
        """Write the function: it computes tasks [f.begin, f.end) of a job."""

    @property
    def key(self) -> str:
        """A text that is equal for kernels of equal code."""
        return f"{type(self).__module__}.{self!r}"

    @property
    def symbol(self) -> str:
        """The name of the kernel's function, which depends on its key."""
        return f"{type(self).__name__}_{hashlib.sha256(self.key.encode()).hexdigest()[:16]}"

    def llvm_ir(self, cpu: Cpu) -> str:
        """Return the module of its one function."""
        from ttc.runtime.engines.native.ir.writer import Writer

        writer = Writer(self.symbol, cpu)
        self.emit(writer)
        return writer.text()


@dataclass(frozen=True)
class JobKernel(Kernel):
    """The kernel of a job, whose words have names."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the words of a job, in order."""

    @abstractmethod
    def emit_job(self, f: Writer, words: Words) -> None:
        """Write the function: it computes tasks [f.begin, f.end) of a job with these words."""

    def emit(self, f: Writer) -> None:
        self.emit_job(f, Words(f, {name: place for place, name in enumerate(self.names)}))

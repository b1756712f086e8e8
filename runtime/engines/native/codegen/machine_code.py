"""Machine code from LLVM IR: an ELF object for one CPU.

    data = object_code(text, host_cpu())       # text: a module of LLVM IR; `define void @k(ptr %p, i64 %a, i64 %b, ptr %s) ...`

This module is the only one that drives LLVM (llvmlite); it is imported where code is made, not where made code is loaded.

Passes: for each function LLVM's own simplification of level 2 (SROA, instcombine, GVN, LICM, loop rotation and deletion; strength
reduction of loops belongs to the code generator), which second-guesses no explicit vector code: loops are not vectorized, interleaved or
unrolled, unless their metadata asks for it (`llvm.loop.unroll.full`), scalars are not packed, functions not inlined.  Every function is
marked `nounwind` (no tables of unwinding) and `no-builtins` (no loop becomes a call of memset or memcpy, which code of ours cannot reach).

Functions here may be called by several threads at a time, and run at the same time: llvmlite lets one thread into LLVM at a time, but LLVM
itself allows any number, each in a context of its own, and so the two calls that take long go past that lock.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.features import Cpu

_DEFINITION = re.compile(r"^(define\b[^\n{]*?)[ \t]*(\{?)[ \t]*$", re.MULTILINE)
_MARKED = r'\1 nounwind "no-builtins" \2'


def object_code(llvm_ir: str, cpu: Cpu) -> bytes:
    """Return an ELF relocatable object, position-independent.

    Args:
        llvm_ir: a module as text, each `define` with all of its head on a line of its own, as llvmlite writes it; its target triple and
                 data layout are overridden.
        cpu: what the code may use; of the architecture of this process.
    Raises:  E0901 if the module is not right: our own generators wrote it.
    """
    return _compiled(llvm_ir, cpu, as_object=True)


def assembly(llvm_ir: str, cpu: Cpu) -> str:
    """Return the machine code as assembly text, for people who work on kernels."""
    return _compiled(llvm_ir, cpu, as_object=False).decode()


def target_machine(cpu: Cpu) -> llvm.TargetMachine:
    """Return LLVM's target machine: no CPU is named, so LLVM schedules for none in particular, and uses what the features say."""
    return _target().create_target_machine(cpu="", features=cpu.llvm_features, opt=3, reloc="pic", codemodel="small")


def _compiled(llvm_ir: str, cpu: Cpu, *, as_object: bool) -> bytes:
    """A module must be gone before its context is, whatever happens."""
    text = _DEFINITION.sub(_MARKED, llvm_ir)
    with target_machine(cpu) as machine, llvm.create_context() as context:
        try:
            with llvm.parse_assembly(text, context) as module:
                module.triple, module.data_layout = machine.triple, str(machine.target_data)
                module.verify()
                _simplify(module, machine)
                return _emit(module, machine, as_object)
        except RuntimeError as error:
            raise Error("E0901", f"internal error: LLVM does not take generated code: {error}") from None


def _simplify(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = tuning.loop_unrolling = False
    with tuning, llvm.create_pass_builder(machine, tuning) as builder, builder.getFunctionPassManager() as passes:
        for function in module.functions:
            if not function.is_declaration:
                _unlocked("LLVMPY_RunNewFunctionPassManager")(passes, function, builder)


def _emit(module: llvm.ModuleRef, machine: llvm.TargetMachine, as_object: bool) -> bytes:
    library = llvm.ffi.lib
    with llvm.ffi.OutputString() as message:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, int(as_object), message)
        if not buffer:
            raise Error("E0901", f"internal error: LLVM makes no code of a module: {message}")
    try:
        return ctypes.string_at(library.LLVMPY_GetBufferStart(buffer), library.LLVMPY_GetBufferSize(buffer))
    finally:
        library.LLVMPY_DisposeMemoryBuffer(buffer)


@cache
def _target() -> llvm.Target:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    return llvm.Target.from_triple(llvm.get_process_triple())


@cache
def _unlocked(name: str) -> Callable[..., Any]:
    """Return a function of llvmlite's library without llvmlite's lock around it."""
    known = getattr(llvm.ffi.lib, name)
    function = getattr(ctypes.CDLL(llvm.ffi.lib._name), name)
    function.argtypes, function.restype = known.argtypes, known.restype
    return function

"""Machine code from LLVM IR: an ELF object for one CPU.

    data = object_code(text, host_cpu())       # text: modules of LLVM IR; `define void @k(ptr %p, i64 %a, i64 %b, ptr %s) { ... }`

This module is the only one that needs LLVM (llvmlite); it is imported where code is made, not where made code is loaded.

Passes: LLVM's own pipeline of level 2 (SROA, instcombine, GVN, LICM, loop rotation and deletion; strength reduction of loops belongs to
the code generator) without the passes that would second-guess explicit vector code: loops are neither vectorized, interleaved nor
unrolled, unless their metadata asks for it (`llvm.loop.unroll.full`), and scalars are not packed.  Every function is marked `nounwind`
(no tables of unwinding) and `no-builtins` (no loop becomes a call of memset or memcpy, which a loaded object could not reach).
"""

from __future__ import annotations

import re
from functools import lru_cache

import llvmlite.binding as llvm

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.features import Cpu

_DEFINITION = re.compile(r"^(define\b[^\n{]*?)[ \t]*(\{?)[ \t]*$", re.MULTILINE)
_ATTRIBUTES = 'nounwind "no-builtins"'


def object_code(llvm_ir: str, cpu: Cpu) -> bytes:
    """An ELF relocatable object, position-independent.

    Args:
        llvm_ir: a module as text, each `define` with all of its head on a line of its own, as llvmlite writes it; its target triple and
                 data layout are overridden.
        cpu: what the code may use; of the architecture of this process.
    Raises:  E0901 if the module is not right: our own generators wrote it.
    """
    machine = _target_machine(cpu)
    text = _DEFINITION.sub(rf"\1 {_ATTRIBUTES} \2", llvm_ir)
    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(text, context)
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            module.verify()
        except RuntimeError as error:
            raise Error("E0901", f"generated code does not verify: {error}") from None
        with module:
            _optimize(module, machine)
            return machine.emit_object(module)


def assembly(llvm_ir: str, cpu: Cpu) -> str:
    """The same code as assembly text, for people who work on kernels."""
    machine = _target_machine(cpu)
    with llvm.create_context() as context:
        with llvm.parse_assembly(_DEFINITION.sub(rf"\1 {_ATTRIBUTES} \2", llvm_ir), context) as module:
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            _optimize(module, machine)
            return machine.emit_assembly(module)


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = tuning.loop_unrolling = False
    with tuning, llvm.create_pass_builder(machine, tuning) as builder, builder.getModulePassManager() as passes:
        passes.run(module, builder)


@lru_cache(maxsize=8)
def _target_machine(cpu: Cpu) -> llvm.TargetMachine:
    """No CPU is named: LLVM then schedules for none in particular, and uses what the features say."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu="", features=cpu.llvm_features, opt=3, reloc="pic", codemodel="small")

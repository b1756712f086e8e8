"""Rules of queues that programs allocate and free."""

from __future__ import annotations

from ttc.dialects.netlist.buda.form import BudaInstruction, BudaProgram
from ttc.dialects.netlist.buda.rules.context import Context


def check_dynamic(context: Context) -> None:
    """No queue is allocated twice, or freed without being allocated; a program that allocates one uses it after that."""
    live: set[object] = set()
    for program in context.netlist.programs.values():
        allocated = {name for step in program.instructions if step.opcode == "allocate_queue" for name in step.args}
        for step in program.instructions if f"program '{program.name}'" not in context.faulty else ():
            if step.opcode == "allocate_queue":
                for name in step.args:
                    if name in live:
                        _report(program, step, f"queue '{name}' is allocated already", context)
                live.update(step.args)
            elif step.opcode == "deallocate_queue":
                for name in step.args:
                    if name not in live:
                        _report(program, step, f"queue '{name}' is freed, but not allocated before", context)
                live.difference_update(step.args)
            elif step.opcode == "execute":
                for setting in step.settings:
                    if setting.queue in allocated and setting.queue not in live:
                        _report(program, step, f"execute uses queue '{setting.queue}' where it is not allocated", context)


def _report(program: BudaProgram, step: BudaInstruction, message: str, context: Context) -> None:
    place = f"program '{program.name}'"
    context.found.add("E0656", f"{context.netlist.source}:{step.line}: {place}" if step.line else place, message)

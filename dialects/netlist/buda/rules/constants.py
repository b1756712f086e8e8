"""Variables of programs whose value the text tells."""

from __future__ import annotations

from collections import Counter

from ttc.dialects.netlist.buda.form import BudaProgram


def known_values(program: BudaProgram) -> dict[str, int]:
    """Values of variables that are declared and then stay, or are set once, to a number and outside of loops, and then stay."""
    changes = Counter(str(step.args[0]) for step in program.instructions if step.opcode == "varinst")
    known: dict[str, int] = {}
    depth = 0
    for step in program.instructions:
        depth += (step.opcode == "loop") - (step.opcode == "endloop")
        if step.opcode in ("var", "staticvar"):
            for pair in step.args:
                if isinstance(pair, tuple) and isinstance(pair[1], int) and not changes[str(pair[0])]:
                    known[str(pair[0])] = pair[1]
        elif step.opcode == "varinst" and step.args[1] == "set" and not depth and changes[str(step.args[0])] == 1:
            value = step.args[2]
            number = value if isinstance(value, int) else known.get(str(value))
            if number is not None:
                known[str(step.args[0])] = number
    return known

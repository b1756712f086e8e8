"""What a module says of its training: the attribute `ttc.training`, which passes fill and the archive's manifest takes over."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ttc.dialects.core.ir.entries import THEN, entry_functions, module_attr, set_module_attr

FORWARD, BACKWARD, OPTIMIZER, STEP, EVALUATE = "forward", "backward", "optimizer", "step", "evaluate"
"""Entry functions of a training program."""
UPDATE = "step_update"
"""The part of a step that runs once, after its microbatches were streamed."""
SUM, COUNT = "loss.sum", "loss.count"
"""Outputs whose quotient is the loss; the second is also the state that adds counts."""
SCALED = "loss.scaled"
"""The output that is differentiated where the loss is scaled; no entry function keeps it."""
SCALE, GOOD, SKIPPED = "loss_scale.scale", "loss_scale.good_steps", "skipped"
"""States of a dynamic scale: what losses are multiplied by, and updates since it last changed; the output that says if one was left out."""
SAVED = "saved."
"""What names begin with of values that `forward` keeps for `backward`."""
ADDED = "added."
"""What names begin with of sums over microbatches that the update of a step takes."""
TARGET = "target"
"""The name of the input that a loss compares an output with."""
STEPS = "optimizer.step"
"""The name of the state that counts updates."""
MASTER = "master"
"""The slot that holds the exact value of a parameter of fewer bits than updates are computed in."""


def slot_name(slot: str, parameter: str) -> str:
    """Return the state of an optimizer for a parameter: `optimizer.exp_avg.layer.weight`."""
    return f"optimizer.{slot}.{parameter}"


def updating_functions(module: ModuleOp) -> list[FuncOp]:
    """Return the entry functions that update parameters, or give the gradients to do so."""
    return [f for f in entry_functions(module) if f.sym_name.data in (OPTIMIZER, STEP, UPDATE) and THEN not in f.attributes]


def notes(module: ModuleOp) -> dict[str, Any]:
    """Return what is noted so far."""
    return dict(module_attr(module, "training") or {})


def note(module: ModuleOp, **more: Any) -> None:
    """Add to what is noted."""
    set_module_attr(module, "training", {**notes(module), **more})


def note_numbers(module: ModuleOp, numbers: dict[str, float]) -> None:
    """Add inputs that are hyper-parameters, with the values that they have unless others come in."""
    known = dict(notes(module).get("hyper", ()))
    note(module, hyper=tuple((known | numbers).items()))


def note_wide(module: ModuleOp, *names: str) -> None:
    """Add names of parameters, states, inputs and outputs that stay in the format of the source, whatever others are stored in."""
    note(module, wide=tuple(dict.fromkeys((*notes(module).get("wide", ()), *names))))

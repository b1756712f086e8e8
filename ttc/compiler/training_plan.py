"""What options of training ask for, of a model that is imported: the plan that the pipeline follows."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.gradients.reverse import is_differentiable
from ttc.passes.nn.entries import all_parameters
from ttc.passes.nn.training_notes import FORWARD
from ttc.passes.training import TrainingPlan
from ttc.settings.records import settings
from ttc.settings.train_options import TrainOptions


def plan_of(options: TrainOptions | None, module: ModuleOp) -> TrainingPlan | None:
    """Return the plan for a module at the end of stage import; None where no training is asked for.

    Raises: E0101 for options that do not go together, and for models with several programs.
    """
    if options is None or not options.wanted:
        return None
    functions = {function.sym_name.data: function for function in entry_functions(module)}
    if FORWARD not in functions or any(name.startswith(f"{FORWARD}_") for name in functions):
        raise Error("E0101", "a training program is made for one set of shapes", hint="give each input one shape")
    arguments, _ = ports(functions[FORWARD])
    types = [spec_of(argument.type) for argument in functions[FORWARD].body.block.args]
    floats = tuple(port.name for port, type_ in zip(arguments, types, strict=True) if is_differentiable(type_))
    return TrainingPlan(
        loss=options.loss,
        output=options.loss_output,
        groups=_groups(options, module),
        inputs=floats if options.input_gradients else (),
        microbatches=options.microbatches,
        clip_norm=options.clip_norm,
        clip_value=options.clip_value,
        loss_scale=options.loss_scale,
        batch_norm=options.batch_norm,
        recompute=options.recompute,
        memory=options.memory,
        stash=options.stash,
    )


def _groups(options: TrainOptions, module: ModuleOp) -> tuple[tuple[str, ...], ...]:
    """The groups of parameters, without those that the model does not read."""
    rows = options.groups or (((options.optimizer,),) if options.optimizer is not None else ())
    known = all_parameters(module)
    return tuple((row[0], *([name for name in row[1:] if name in known] or [""])) if len(row) > 1 else row for row in rows)


def recorded_training(recorded: dict[str, Any], given: TrainOptions | None) -> TrainOptions | None:
    """Return the options of training that IR records. Raises E0101 where others are given than it was compiled with."""
    known = {item.name: recorded[item.name] for item, _ in settings(TrainOptions) if item.name in recorded}
    if "groups" in recorded:
        known["groups"] = tuple(map(tuple, recorded["groups"]))
    if not known:
        return given
    then = TrainOptions(**known)
    if given is not None and given.wanted and any(getattr(given, f.name) != getattr(then, f.name) for f in fields(then) if f.name in known):
        raise Error("E0101", "the IR was compiled with other options of training", hint="compile from the model")
    return then

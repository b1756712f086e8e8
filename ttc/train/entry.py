"""`ttc.training`: from a model, a loss and an optimizer to an executor that trains it."""

from __future__ import annotations

import os
from typing import Any

from ttc.api import chosen_engine, compile
from ttc.dialects.core.errors import Error
from ttc.losses import Output, loss_of
from ttc.options import RunOptions, resolve
from ttc.runtime.program import Program, build_program
from ttc.settings.loop_options import UpdateOptions
from ttc.settings.records import settings
from ttc.train.executor import TrainingExecutor
from ttc.train.outputs import OutputMode

_OF_RUNS = ("engine", "threads")


def training(model: Any, *, loss: Any = None, optimizer: Any = None, example_inputs: Any = None, **option_fields: Any) -> TrainingExecutor:
    """Make an executor that trains a model.

    A PyTorch module is compiled with the first call, for its rows, unless example inputs are given; a file at once.

    Args:
        model: as `ttc.compile` takes it.
        loss: name, record of `ttc.losses`, or module of `torch.nn`; "output": the model gives its loss; None: gradients of outputs are
            given to `backward`.
        optimizer: name, record of `ttc.optim`, or instance of `torch.optim` over the module's parameters, whose learning rates are read at
            every call; None: gradients are accumulated, and read with `grads`.
        example_inputs: of one microbatch, as `ttc.compile` takes them.
        option_fields: fields of UpdateOptions (accumulate, iterations, output), of RunOptions (engine, threads), and what `ttc.compile`
            takes: target, format, clip_norm, loss_scale, ...
    Raises: E0101 for options, and what `ttc.compile` raises, now or with the first call.
    """
    own = {item.name: option_fields.pop(item.name) for item, _ in settings(UpdateOptions) if item.name in option_fields}
    updates = resolve(UpdateOptions, own, os.environ)
    running = resolve(RunOptions, {name: option_fields.pop(name) for name in _OF_RUNS if name in option_fields}, os.environ)
    if "microbatches" in option_fields:
        raise Error("E0101", "there is no option 'microbatches'", hint="accumulate=N adds up the gradients of N microbatches")
    fields = {**option_fields, "loss": loss, "microbatches": updates.accumulate, **({"training": True} if loss is None else {})}
    engine = chosen_engine(running)

    def build(optimizer: Any, examples: tuple[Any, ...] | None) -> Program:
        chosen = example_inputs if examples is None else examples
        known = {name: value for name, value in fields.items() if value is not None}
        found = compile(model, chosen, optimizer=optimizer, **known) if optimizer is not None else compile(model, chosen, **known)
        if engine is None and running.threads is None:
            return found
        return build_program(found.netlist, found.description, found.constants.sources, engine=engine, threads=running.threads)

    return TrainingExecutor(
        model,
        optimizer,
        build,
        targets=0 if loss is None or isinstance(loss_of(loss), Output) else 1,
        ready=example_inputs is not None or not hasattr(model, "named_parameters"),
        accumulate=updates.accumulate,
        iterations=updates.iterations,
        output=OutputMode.of(updates.output),
    )

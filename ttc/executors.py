"""`ttc.training` and `ttc.inference`: from a model to an executor that takes rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ttc.api import compile
from ttc.compiler.training_keywords import in_mode
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.machines.targets import load_target
from ttc.loading import OF_RUNS, exact_of, on_engine
from ttc.losses import Output, for_targets, loss_of
from ttc.options import CompileOptions, DebugOptions, RunOptions, resolve
from ttc.pipeline.staged import OF_PIPELINES, Staged
from ttc.runtime.devices import devices_of_replicas
from ttc.settings.loop_options import InferenceOptions, UpdateOptions
from ttc.settings.records import settings
from ttc.settings.run_options import BOTH
from ttc.settings.train_options import TrainOptions
from ttc.train.executor import TrainingExecutor
from ttc.train.inference import InferenceExecutor
from ttc.train.instances import Copies, Instances
from ttc.train.outputs import OutputMode
from ttc.train.own_loss import is_own_loss, with_loss
from ttc.train.replicas import Replicas, Trains
from ttc.train.rows import Rows
from ttc.train.updates import MARKED_LOSS

_OF_COMPILE = frozenset(("dynamic_shapes", "options", "shapes"))
"""Keywords of `ttc.compile` that are no fields of options."""
_NOT_IN_INFERENCE = {
    "accumulate": "iterations=N takes N microbatches",
    "optimizer": "ttc.training takes one",
    "loss": "ttc.training takes one",
}
"""Options of training, and what to do instead."""


def training(
    model: Any,
    *,
    loss: Any = None,
    optimizer: Any = None,
    example_inputs: Any = None,
    devices: Sequence[Any] | None = None,
    plan: Mapping[str, int] | None = None,
    schedule: str = "1f1b",
    mode: str = "sequential",
    **option_fields: Any,
) -> TrainingExecutor:
    """Make an executor that trains a model, whole or in stages on devices: the numbers are the same.

    A PyTorch module is compiled with the first call, for its rows, unless example inputs are given; a file at once.

    Args:
        model: as `ttc.compile` takes it.
        loss: name, record of `ttc.losses`, module of `torch.nn`, or a function of the outputs and one target that gives a number; "output":
            the model gives its loss; "marked": it marks its loss by `ttc.mark_loss`; None: gradients of outputs are given to `backward`.
        optimizer: name, record of `ttc.optim`, or instance of `torch.optim` over the module's parameters, whose learning rates are read at
            every call; None: gradients are accumulated, and read with `grads`.
        example_inputs: of one microbatch, as `ttc.compile` takes them.
        devices: one for each stage that the model is cut into, as `ttc.Pipeline` takes them; None: the model stays whole.
        plan, schedule, mode: of stages, as `ttc.Pipeline` takes them; without a plan `ttc.stage` marks them in a PyTorch module.
        option_fields: fields of UpdateOptions (accumulate, iterations, replicas, output, ...), of RunOptions (engine, exact, ...), and what
            `ttc.compile` takes: target, format, clip_norm, loss_scale, ...; `batch`: rows of a microbatch, of which a call with more rows
            has more in each update.
    Raises: E0101 for options, and what `ttc.compile` raises, now or with the first call.
    """
    batch = _batch(model, example_inputs, option_fields)
    updates, of_devices = _taken(UpdateOptions, option_fields), dict(option_fields)
    running = _running(option_fields)
    _check(option_fields)
    _require_known(option_fields, UpdateOptions)
    if devices is not None:
        return _in_stages(model, loss, optimizer, example_inputs, updates, batch, Staged(devices, plan, schedule, mode, of_devices))
    _check_plan(devices, plan)
    places = _places(option_fields, updates.replicas)
    if loss == "marked":
        loss = Output(MARKED_LOSS)
    elif is_own_loss(loss):
        model, loss = with_loss(model, loss), Output(MARKED_LOSS)
    fields = {**option_fields, "loss": loss, "microbatches": updates.accumulate, **({"training": True} if loss is None else {})}

    def build(optimizer: Any, examples: tuple[Any, ...] | None, floating: bool) -> Trains:
        chosen = example_inputs if examples is None else examples
        known = {name: value for name, value in {**fields, "loss": for_targets(loss, floating=floating)}.items() if value is not None}
        found = compile(model, chosen, optimizer=optimizer, **known) if optimizer is not None else compile(model, chosen, **known)
        return Replicas(on_engine(found, running), places, updates.reduction)

    return TrainingExecutor(
        model,
        optimizer,
        build,
        targets=None if loss is None else 0 if isinstance(loss_of(loss), Output) else 1,
        ready=example_inputs is not None or not hasattr(model, "named_parameters"),
        **_of_calls(updates, batch),
    )


def _batch(model: Any, example_inputs: Any, option_fields: dict[str, Any]) -> int | None:
    """Return the rows of a microbatch that calls of a module of PyTorch have, which no option of compiling says.  Raises E0101."""
    if not hasattr(model, "named_parameters") or "batch" not in option_fields:
        return None
    batch = option_fields.pop("batch")
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise Error("E0101", f"a microbatch of {str(batch)[:40]} rows is not possible", hint="batch is a whole number of at least 1")
    if batch is not None and example_inputs is not None:
        raise Error("E0101", "example inputs have the rows of a microbatch: batch says it again", hint="give one of them")
    return batch


def _places(fields: Mapping[str, Any], replicas: int) -> list[int | None]:
    """Return the device of each replica; on the host they have none.  Raises E0104 where there are fewer devices."""
    chosen = resolve(CompileOptions, {"target": fields.get("target")}, os.environ)
    return [None] * replicas if load_target(chosen.target).is_host else devices_of_replicas(replicas)


def _check_plan(devices: Any, plan: Any) -> None:
    if plan is not None and devices is None:
        raise Error("E0101", "a plan says which stages run on which devices", hint="add devices=[...], one for each stage")


def _check(option_fields: Mapping[str, Any]) -> None:
    """Raise E0101 for options of `ttc.compile` that executors of training have no use for."""
    if "microbatches" in option_fields:
        raise Error("E0101", "there is no option 'microbatches'", hint="accumulate=N adds up the gradients of N microbatches")
    if option_fields.get("stash"):
        raise Error(
            "E0101", "'stash' means nothing here: an executor goes forward and back in one program", hint="ttc.Pipeline keeps values"
        )


def _of_calls(updates: UpdateOptions, batch: int | None) -> dict[str, Any]:
    """Return what a training executor is told of the rows and results of its calls."""
    return {
        "rows": Rows(updates.iterations, updates.accumulate, updates.replicas, updates.partial_batch, batch),
        "output": OutputMode.of(updates.output),
        "loss_rows": updates.loss_rows,
        "recompile": updates.recompile,
    }


def _in_stages(
    model: Any, loss: Any, optimizer: Any, example_inputs: Any, updates: UpdateOptions, batch: int | None, staged: Staged
) -> TrainingExecutor:
    """Return the executor of a model in stages."""
    staged.check_training(loss, example_inputs, updates.reduction)
    targets = 0 if not is_own_loss(loss) and isinstance(loss_of(loss), Output) else 1
    return TrainingExecutor(
        model,
        optimizer,
        lambda chosen, examples, floating: staged.made(
            model, for_targets(loss, floating=floating), chosen, examples or (), targets, updates.replicas
        ),
        targets=targets,
        **_of_calls(updates, batch),
    )


def inference(
    model: Any,
    *,
    example_inputs: Any = None,
    devices: Sequence[Any] | None = None,
    plan: Mapping[str, int] | None = None,
    mode: str = "sequential",
    **option_fields: Any,
) -> InferenceExecutor:
    """Make an executor that runs a model on any number of rows, whole or in stages on devices: the numbers are the same.

    A PyTorch module is compiled in evaluation mode with the first call, for its rows, unless example inputs are given; a file at once.  It
    sees the newest weights of an executor that trains the same module.

    Args:
        model: as `ttc.compile` takes it.
        example_inputs: of one microbatch, as `ttc.compile` takes them.
        devices: one for each stage that the model is cut into, as `ttc.Pipeline` takes them; None: the model stays whole.
        plan, mode: of stages, as `ttc.Pipeline` takes them; without a plan `ttc.stage` marks them in a PyTorch module.
        option_fields: fields of InferenceOptions (iterations, replicas, output, partial_batch, ...), of RunOptions (engine, exact, ...),
            and what `ttc.compile` takes: target, format, ...; `batch`: rows of a microbatch, of which a call with more rows has more.
    Raises: E0101 for options, and what `ttc.compile` raises, now or with the first call.
    """
    for name, hint in _NOT_IN_INFERENCE.items():
        if option_fields.pop(name, None) not in (None, 1):
            raise Error("E0101", f"'{name}' means nothing in inference", hint=hint)
    batch = _batch(model, example_inputs, option_fields)
    options, of_devices = _taken(InferenceOptions, option_fields), dict(option_fields)
    _require_known({name: value for name, value in option_fields.items() if name not in OF_RUNS}, InferenceOptions)
    running, staged = _running(option_fields), None if devices is None else Staged(devices, plan, "1f1b", mode, of_devices)
    _check_plan(devices, plan)
    output = OutputMode.of(options.output)
    if options.partial_batch == "pad" and output.name != "all":
        raise Error("E0101", f"padded rows would be part of output '{output.name}'", hint="take output 'all', or partial_batch 'drop'")

    if staged is not None:
        staged.check(example_inputs)
    places = _places(option_fields, options.replicas) if staged is None else []

    def build(examples: tuple[Any, ...] | None) -> Instances:
        known = {name: value for name, value in option_fields.items() if value is not None}
        with in_mode(model, False), _buffers_as_parameters(model):
            if staged is not None:
                return staged.forward(model, examples or (), options.replicas)
            return Copies(on_engine(compile(model, example_inputs if examples is None else examples, **known), running), places)

    return InferenceExecutor(
        model,
        build,
        ready=staged is None and (example_inputs is not None or not hasattr(model, "named_parameters")),
        rows=Rows(options.iterations, 1, options.replicas, options.partial_batch, batch),
        output=output,
        recompile=options.recompile,
    )


def _taken(kind: type[Any], fields: dict[str, Any]) -> Any:
    """Return the options of a class among keywords, which are taken out.  Raises E0101."""
    own = {item.name: fields.pop(item.name) for item, _ in settings(kind) if item.name in fields}
    return resolve(kind, own, os.environ)


def _running(fields: dict[str, Any]) -> RunOptions:
    """Return how programs run.  Raises E0101 for both engines, which `ttc run` compares."""
    found = resolve(RunOptions, {name: fields.pop(name) for name in OF_RUNS if name in fields}, os.environ)
    if found.engine == BOTH:
        raise Error("E0101", "engine 'both' is of ttc run, which compares the engines", hint="save a program, and give it to ttc run")
    exact_of(found)
    return found


def _require_known(fields: Mapping[str, Any], own: type[Any]) -> None:
    """Raise E0101 for an option that neither `ttc.compile` nor an executor has: it would fail in the first call.  own: of the executor."""
    kinds = (CompileOptions, DebugOptions, TrainOptions)
    known = {item.name for kind in kinds for item, _ in settings(kind)} | {*_OF_COMPILE, *OF_PIPELINES}
    for name in fields:
        if name not in known:
            names = sorted(known | {item.name for item, _ in settings(own)} | {*OF_RUNS})
            raise Error("E0101", f"there is no option '{name[:80]}'", hint=nearest(name, names))


@contextmanager
def _buffers_as_parameters(model: Any) -> Iterator[None]:
    """Let the floating-point buffers of a module be parameters while it is compiled, so that running statistics can get new values."""
    moved: list[tuple[Any, str, Any]] = []
    if hasattr(model, "named_parameters"):
        import torch

        for module in model.modules():
            for name, buffer in list(module._buffers.items()):  # noqa: SLF001 - torch has no other way
                if buffer is not None and buffer.is_floating_point():
                    del module._buffers[name]  # noqa: SLF001
                    module._parameters[name] = torch.nn.Parameter(buffer, requires_grad=False)  # noqa: SLF001
                    moved.append((module, name, buffer))
    try:
        yield
    finally:
        for module, name, buffer in moved:
            del module._parameters[name]  # noqa: SLF001
            module._buffers[name] = buffer  # noqa: SLF001

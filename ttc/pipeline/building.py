"""From what a user gives for the stages of a pipeline to stages that run, each made when the outputs of the one before are known."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ttc.accuracy.distances import Exactness
from ttc.api import is_torch
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.dialects.nn.training.optimizers import Optimizer
from ttc.optim import is_torch_optimizer
from ttc.options import CompileOptions, resolve
from ttc.pipeline.compiled_stage import CompiledStage
from ttc.pipeline.device import Device, device_of
from ttc.pipeline.keeping import KeepingSession
from ttc.pipeline.modules import program_for
from ttc.pipeline.rates import StageRates, instance_for, made_by
from ttc.pipeline.remote import RemoteSession
from ttc.pipeline.stage import Arrays, Stage
from ttc.pipeline.verified import BOUNDS, Verdict, VerifiedStage, Verify
from ttc.runtime.machine.session import Session


@record(eq=False)
class GivenStage:
    """A stage as its user gives it.

    Args:
        name: of the stage: that of its device, with a number where several stages have it.
    """

    name: str
    device: Device
    module: Any


@record(eq=False)
class SharedSettings:
    """What all stages of a pipeline have in common.

    Args:
        training: whether stages are made for training.
        optimizer, scheduler: of stages whose devices have none of their own.
        taps: names of ops by stage.
        verify: what stages are compared with; None: nothing.
        seed: of what modules of PyTorch draw in training.
        threads: of a process of its own for each compiled stage; None: all run in this process.
    """

    training: bool
    optimizer: Any
    scheduler: Any
    taps: Mapping[str, Sequence[str]]
    verify: Verify | None
    seed: int
    threads: int | None


def plans_of(stages: Iterable[Any]) -> list[GivenStage]:
    """Return the stages of a pipeline, with names of their own.  Raises E0101 for what is no pair of a device and a module."""
    pairs: list[tuple[Device, Any]] = []
    places: dict[str, Device] = {}
    for item in stages:
        if not isinstance(item, tuple | list) or len(cast("Sequence[Any]", item)) != 2:
            raise Error("E0101", f"a stage is a pair of a device and a module, not a {type(item).__name__}")
        given, module = cast("Sequence[Any]", item)
        device = places.setdefault(given, device_of(given)) if isinstance(given, str) else device_of(given)
        pairs.append((device, module))
    if not pairs:
        raise Error("E0101", "a pipeline has one stage at least")
    seen: Counter[str] = Counter()
    plans: list[GivenStage] = []
    for device, module in pairs:
        seen[device.name] += 1
        plans.append(GivenStage(device.name if seen[device.name] == 1 else f"{device.name}#{seen[device.name]}", device, module))
    for plan in plans:
        if plan.device.is_cpu and not (is_torch(plan.module) and hasattr(plan.module, "parameters")):
            message = f"a {type(plan.module).__name__} does not run on the CPU in PyTorch"
            raise Error("E0101", message, where=f"stage '{plan.name}'", hint="device 'host' compiles it for the CPU")
    return plans


def chunks_of(plans: Sequence[GivenStage], devices: int) -> int:
    """Count the stages of each device.  Raises E0101 unless devices come in turns."""
    chunks, rest = divmod(len(plans), devices)
    if rest or any(plan.device is not plans[number % devices].device for number, plan in enumerate(plans) if devices < len(plans)):
        hint = "schedule interleaved takes (a, ...), (b, ...), (a, ...), (b, ...)"
        raise Error("E0101", "devices of the stages do not come in turns", hint=hint)
    return chunks


def check_optimizer(plans: Sequence[GivenStage], optimizer: Any, scheduler: Any, *, trained: bool) -> None:
    """Refuse optimizers of pipelines that have no loss, and one instance of torch for stages that it cannot all have.  Raises E0101."""
    own = [given for plan in plans for given in (plan.device.optimizer, plan.device.scheduler) if given is not None]
    if not trained and (optimizer is not None or scheduler is not None or own):
        raise Error("E0101", "an optimizer is given, and the pipeline has no loss", hint='give it one: loss="mse", or a module of torch.nn')
    if is_torch_optimizer(optimizer) and len(plans) > 1:
        hint = "give a function of parameters, such as lambda parameters: torch.optim.SGD(parameters, 0.1), or one a device"
        raise Error("E0101", "an instance of torch.optim is of the parameters of one stage, and the pipeline has several", hint=hint)


def check_taps(taps: Mapping[str, Sequence[str]], plans: Sequence[GivenStage]) -> dict[str, tuple[str, ...]]:
    """Return names to tap by stage. Raises E0206 for stages that do not exist."""
    names = [plan.name for plan in plans]
    for name in taps:
        if name not in names:
            raise Error("E0206", f"there is no stage '{str(name)[:80]}' to tap", hint=nearest(str(name), names))
    return {name: (given,) if isinstance(given, str) else tuple(given) for name, given in taps.items()}


def build(plans: Sequence[GivenStage], settings: SharedSettings, examples: Arrays, verdicts: Callable[[Verdict], None]) -> list[Stage]:
    """Make the stages for inputs like the examples.

    Args:    verdicts: is called with every comparison, where stages are verified.
    Raises:  what compiling them raises, with the stage's name; then none is left running.
    """
    stages: list[Stage] = []
    try:
        for number, plan in enumerate(plans):
            stage, outputs = _built(plan, settings, examples, number)
            stages.append(stage)
            stages[-1] = _verified(plan, settings, stage, examples, number, verdicts)
            examples = outputs
    except BaseException:
        for stage in stages:
            stage.close()
        raise
    return stages


def _built(plan: GivenStage, settings: SharedSettings, examples: Arrays, number: int) -> tuple[Stage, Arrays]:
    taps = tuple(settings.taps.get(plan.name, ()))
    rates = _rates(plan, settings) if settings.training else None
    if plan.device.is_cpu:
        from ttc.pipeline.torch_stage import TorchStage

        eager = TorchStage(plan.name, plan.module, rates, taps, settings.seed + number, number)
        return eager, eager.outputs_for(examples)
    optimizer = None if rates is None else rates.optimizer
    program, added = program_for(
        plan.name, plan.module, plan.device, examples, training=settings.training, optimizer=optimizer, first=number == 0, taps=taps
    )
    session: KeepingSession | RemoteSession
    if settings.threads is None:
        program.prepare()
        session = KeepingSession(Session(program, number=plan.device.number))
    else:
        session = RemoteSession(plan.name, program, plan.device, settings.threads)
    try:
        stage = CompiledStage(plan.name, number, plan.module, program, session, rates, taps, added)
        return stage, stage.outputs_for(examples)
    except BaseException:
        session.close()
        raise


def _rates(plan: GivenStage, settings: SharedSettings) -> StageRates | None:
    """Return the optimizer of a stage, with its schedule; None where it has none, or nothing to update."""
    optimizer = _own(plan.device.optimizer, settings.optimizer)
    scheduler = _own(plan.device.scheduler, settings.scheduler)
    parameters = [p for p in plan.module.parameters() if p.requires_grad] if is_torch(plan.module) else None
    if optimizer is None or parameters == []:
        return None
    if plan.device.is_cpu:
        return StageRates(instance_for(optimizer, parameters or ()), scheduler)
    if callable(optimizer) and not is_torch_optimizer(optimizer) and not isinstance(optimizer, str | Optimizer):
        if parameters is None:
            message = f"a function of parameters is no optimizer for a {type(plan.module).__name__}"
            raise Error("E0101", message, where=f"stage '{plan.name}'", hint='give text such as "sgd:lr=0.1", or ttc.optim.*')
        optimizer = made_by(optimizer, parameters)
    return StageRates(optimizer, scheduler)


def _own(of_device: Any, of_pipeline: Any) -> Any:
    """Return what a device has of its own, or else the pipeline for all."""
    return of_pipeline if of_device is None else of_device


def _verified(
    plan: GivenStage, settings: SharedSettings, stage: Stage, examples: Arrays, number: int, verdicts: Callable[[Verdict], None]
) -> Stage:
    """The stage with its reference: a copy of its module in PyTorch, or its model compiled for the reference engine of this machine."""
    verify = settings.verify
    if verify is None:
        return stage
    in_torch = verify.against == "torch"
    if in_torch and not is_torch(plan.module):
        message = f"a {type(plan.module).__name__} cannot be verified against PyTorch"
        raise Error("E0101", message, where=f"stage '{plan.name}'", hint='verify="golden" takes the reference engine')
    given = (plan.module, _own(plan.device.optimizer, settings.optimizer), _own(plan.device.scheduler, settings.scheduler))
    module, optimizer, scheduler = copy.deepcopy(given) if is_torch(plan.module) else given  # together: parameters are those of the copy
    engine = {} if in_torch else {"engine": "reference"}
    twin = GivenStage(
        plan.name, Device("cpu" if in_torch else "host", name=plan.name, optimizer=optimizer, scheduler=scheduler, **engine), module
    )
    reference, _ = _built(twin, replace(settings, taps={}, threads=None), examples, number)
    bounds = verify.bounds or BOUNDS[_exactness(plan.device)]
    return VerifiedStage(stage, reference, bounds, verdicts, raises=verify.raises)


def _exactness(device: Device) -> Exactness:
    """Return how exact the results of a device can be."""
    if device.is_cpu:
        return Exactness.FLOAT32
    options = resolve(CompileOptions, device.compiling)
    found = Exactness.of_precision(options.precision)
    if options.storage_format is not None:
        found = max(found, Exactness.of_format(options.storage_format))
    return max(found, Exactness.BITS16) if device.running.exact else found

"""What PyBuda keeps a process: its devices, and the `ttc.Pipeline` that they make together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ttc.compat.pybuda_config import CONFIG
from ttc.compat.pybuda_modules import Tensor, plain
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.pipeline.device import Device
from ttc.pipeline.pipeline import Pipeline


@record(frozen=False)
class State:
    """What PyBuda keeps a process: its devices in order, and the pipeline that they make once something runs."""

    devices: list[Any] = field(default_factory=list)
    pipeline: Pipeline | None = None
    stages: dict[str, Any] = field(default_factory=dict)
    training: bool = False
    verified: Any = None
    losses: list[float] = field(default_factory=list)
    outputs: Any = None
    checkpoints: Any = None

    def changed(self) -> None:
        """Forget the pipeline, as devices or modules have changed."""
        if self.pipeline is not None:
            self.pipeline.shutdown()
        self.pipeline = None


STATE = State()


def push_into(push: Callable[..., None], values: Any) -> None:
    """Call what pushes a microbatch with its tensors, in order or by name."""
    if isinstance(values, Mapping):
        push(**{name: plain(value) for name, value in values.items()})
    else:
        push(*map(plain, values))


class Sink:
    """A queue of the user's that gets results as PyBuda has them."""

    def __init__(self, target: Any, convert: Callable[[Any], Any]) -> None:
        self.target, self.convert = target, convert

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Put a result into the queue."""
        self.target.put(self.convert(item), block, timeout)

    def full(self) -> bool:
        """Return whether the queue has no room."""
        return self.target.full()


def outputs_of(item: Any) -> list[Tensor]:
    """Return one output, or several, as a list."""
    return [Tensor(value) for value in (item if isinstance(item, tuple) else (item,))]


def by_device(values: Mapping[str, Mapping[str, Any]], device: Any = None) -> list[dict[str, Tensor]]:
    """Return what stages give as a mapping for each device."""
    chosen = STATE.devices if device is None else [device]
    return [{name: Tensor(x) for stage, part in values.items() if STATE.stages[stage] is one for name, x in part.items()} for one in chosen]


class Intermediates:
    """Gives the values of tapped ops as PyBuda has them: a list of tensors a microbatch, in the order in which the ops were named."""

    def get(self, block: bool = True, timeout: float | None = None) -> list[Tensor]:
        """Take those of the next microbatch.  Raises E0101 without a pipeline, E0804 where nothing comes."""
        found = {name: value for part in current().intermediates.get(block, timeout).values() for name, value in part.items()}
        return [Tensor(found[name]) for name in CONFIG.taps]

    def qsize(self) -> int:
        """Return how many microbatches have values here."""
        return current().intermediates.qsize()

    def empty(self) -> bool:
        """Return whether there are none."""
        return not self.qsize()


def _taps(places: Sequence[Device]) -> dict[str, tuple[str, ...]]:
    """Return what is tapped by stage.  places: the device of each stage.  Raises E0105 where names could be of several."""
    compiled = [place.name for place in places if not place.is_cpu]
    if CONFIG.taps and len(compiled) != 1:
        raise Error(
            "E0105", f"op_intermediates_to_save of {len(compiled)} modules on devices is not supported", hint="taps of ttc.Pipeline"
        )
    return {compiled[0]: tuple(CONFIG.taps)} if CONFIG.taps else {}


def pipeline(*, training: bool, sequential: bool = False, verify_cfg: Any = None, **settings: Any) -> Pipeline:
    """Return the pipeline of the devices, made now if there is none of the kind.  Raises E0101."""
    if STATE.pipeline is not None and STATE.training == training:
        if verify_cfg is not None and verify_cfg is not STATE.verified:
            raise Error("E0105", "_verify_cfg of a pipeline that runs already is not supported", hint="give it with the first call")
        return STATE.pipeline
    last = STATE.devices[-1] if STATE.devices else None
    if training and (last is None or last.loss is None):
        raise Error("E0101", "the last device in the pipeline must have a loss module", hint="place_loss_module")
    plans = [(device, device.place(), module) for device in STATE.devices for module in device.modules]
    if not plans:
        raise Error("E0101", "no module is placed on a device", hint="device.place_module")
    loss = last.loss.stage if training and last is not None else None
    verify = None if verify_cfg is None else verify_cfg.verify([module for _, _, module in plans])
    mode = "sequential" if sequential or training else "threads"
    places = {id(device): place for device, place, _ in plans}
    taps = _taps([places[id(device)] for device, _, _ in plans])
    made = Pipeline([(places[id(d)], m.stage) for d, _, m in plans], loss=loss, mode=mode, verify=verify, taps=taps, **settings)
    STATE.pipeline, STATE.training, STATE.verified = made, training, verify_cfg
    STATE.stages = dict(zip(made.stages, (device for device, _, _ in plans), strict=True))
    for device in STATE.devices:
        for values in device.inputs:
            push_into(made.push, values)
        for values in device.targets if training else ():
            push_into(made.push_target, values)
        device.inputs, device.targets = [], device.targets if not training else []
    return made


def current() -> Pipeline:
    """Return the pipeline that was initialized.  Raises E0101 if there is none."""
    if STATE.pipeline is None:
        raise Error("E0101", "there is no pipeline", hint="pybuda.initialize_pipeline")
    return STATE.pipeline

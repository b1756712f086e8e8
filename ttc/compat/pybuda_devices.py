"""Devices of PyBuda, and the `ttc.Pipeline` that they make together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ttc.api import compile
from ttc.compat.pybuda_config import CONFIG
from ttc.compat.pybuda_enums import REFUSED_OF_DEVICES
from ttc.compat.pybuda_modules import Module, PyBudaModule, Tensor, TFModule, plain
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.pipeline.device import Device as Place
from ttc.pipeline.pipeline import Pipeline

ARCHES = {"Grayskull": "e150", "Wormhole": "n150", "Wormhole_B0": "n150", "Blackhole": "p150"}


@record(frozen=False)
class State:
    """What PyBuda keeps a process: its devices in order, and the pipeline that they make once something runs."""

    devices: list[Device] = field(default_factory=list)
    pipeline: Pipeline | None = None
    stages: dict[str, Device] = field(default_factory=dict)
    training: bool = False
    accumulated: bool = False
    losses: list[float] = field(default_factory=list)
    outputs: Any = None
    checkpoints: Any = None

    def changed(self) -> None:
        """Forget the pipeline: devices or modules are others now."""
        if self.pipeline is not None:
            self.pipeline.shutdown()
        self.pipeline = None


STATE = State()


class Device:
    """A device with its modules, and what was pushed to it before there is a pipeline."""

    def __init__(self, name: str, module: Any = None) -> None:
        self.name = name
        self.modules: list[Any] = []
        self.loss: Any = None
        self.inputs: list[Any] = []
        self.targets: list[Any] = []
        STATE.devices.append(self)
        STATE.changed()
        if module is not None:
            self.place_module(module)

    def place_module(self, module: Any) -> None:
        """Place a module, or several, one after another.  Raises E0101 for what is no module, and for a name that is taken."""
        for one in module if isinstance(module, list | tuple) else [module]:
            if not isinstance(one, Module) or (isinstance(one, PyBudaModule) and isinstance(self, CPUDevice)):
                raise Error("E0101", f"a {type(one).__name__} cannot be placed on {self.name}")
            if any(one.get_name() == other.get_name() for other in self.modules):
                raise Error("E0101", f"{self.name} has a module '{one.get_name()}' already")
            one.device = self
            self.modules.append(one)
        STATE.changed()

    def place_loss_module(self, module: Any) -> None:
        """Place the module that computes the loss, on the last device."""
        self.loss = module
        STATE.changed()

    def remove_modules(self) -> None:
        """Take all modules away from the device."""
        self.modules.clear()
        STATE.changed()

    def remove_loss_module(self) -> None:
        """Take the loss away from the device."""
        self.place_loss_module(None)

    def push_to_inputs(self, *tensors: Any) -> None:
        """Push the inputs of one microbatch: tensors, a tuple or a mapping of them."""
        values = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list | Mapping) else tensors
        if STATE.pipeline is None:
            self.inputs.append(values)
        else:
            _push(STATE.pipeline.push, values)

    def push_to_target_inputs(self, *tensors: Any) -> None:
        """Push the targets of one microbatch."""
        values = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
        if STATE.pipeline is None:
            self.targets.append(values)
        else:
            _push(STATE.pipeline.push_target, values)

    def get_parameter_checkpoint(self) -> dict[str, Tensor]:
        """Return the parameters of the device, by name."""
        return by_device(current().parameters(), self)[0]

    get_all_parameters = pop_parameter_checkpoint = get_parameter_checkpoint

    def get_parameters(self, ignore_unused_parameters: bool = True) -> list[Any]:
        """Return the parameters of its modules, as the modules hold them."""
        return [parameter for module in self.modules for parameter in module.get_parameters()]

    def get_parameter_gradients(self) -> dict[str, Tensor]:
        """Return the accumulated gradients of the device, by name."""
        return by_device(current().gradients(), self)[0]

    def forward(self, loop_count: int) -> None:
        """Take microbatches through all devices: stages of a pipeline go together."""
        current().forward(loop_count)

    def backward(self, loop_count: int, zero_grad: bool) -> None:
        """Take microbatches back through all devices."""
        if zero_grad:
            raise Error("E0105", "zero_grad of one device is not supported", hint="pybuda.run_backward(zero_grad=True)")
        current().backward(loop_count)

    def sync(self) -> None:
        """Wait until what was asked for is done."""
        current().wait()

    def __getattr__(self, name: str) -> Any:
        if name in REFUSED_OF_DEVICES:
            raise Error("E0105", f"{type(self).__name__}.{name} is not supported: {REFUSED_OF_DEVICES[name]}")
        raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")


class TTDevice(Device):
    """A device that modules are compiled for; nothing is driven: the machine computes what it would."""

    def __init__(self, name: str, num_chips: int | None = None, chip_ids: Any = None, arch: Any = None, *_: Any, **settings: Any) -> None:
        self.optimizer, self.chips = settings.get("optimizer"), num_chips or (len(chip_ids) if chip_ids else None)
        if settings.get("scheduler") is not None:
            raise Error(
                "E0105", "scheduler of a TTDevice is not supported: ttc.Pipeline takes schedules as text", hint="scheduler='cosine'"
            )
        self.target = ARCHES.get(getattr(arch, "name", str(arch)), "n150")
        super().__init__(name, settings.get("module"))

    def place(self) -> Place:
        """Return it as a device of ttc."""
        fields = {**CONFIG.fields(), **({"chips": self.chips} if self.chips and self.chips > 1 else {})}
        optimizer = getattr(self.optimizer, "ours", self.optimizer)
        return Place(fields.pop("target", self.target), name=self.name, optimizer=optimizer, **fields)

    def compile_to_image(self, *, img_path: str, training: bool = False, sample_inputs: Sequence[Any] = (), **_: Any) -> str:
        """Compile its module into an archive of ttc, and return the path.  Raises E0105 for training, and what compiling raises."""
        if training or len(self.modules) != 1:
            raise Error("E0105", "an image has one module, for inference", hint="ttc.compile(..., loss=, optimizer=)")
        fields = {"target": self.target, **CONFIG.fields()}
        compile(self.modules[0].stage, tuple(map(plain, sample_inputs)), **fields).save(img_path)
        return img_path

    @staticmethod
    def load_image(*, img_path: str) -> TTDevice:
        """Return a device whose module is an archive of ttc."""
        return TTDevice(Path(img_path).stem, module=TFModule(Path(img_path).stem, img_path))


class _Parameters(list[Any]):
    """Parameters of PyTorch for a function that takes them, or a module that has them."""

    def parameters(self) -> list[Any]:
        return self


class CPUDevice(Device):
    """The CPU, where modules of PyTorch run eagerly."""

    def __init__(self, name: str, optimizer_f: Any = None, scheduler_f: Any = None, *_: Any, **settings: Any) -> None:
        self.optimizer_f, self.scheduler_f = optimizer_f, scheduler_f
        super().__init__(name, settings.get("module"))

    def place(self) -> Place:
        """Return it as a device of ttc."""
        made = self.optimizer_f
        optimizer: Callable[[Any], Any] | None = None if made is None else lambda parameters: made(_Parameters(parameters))
        return Place("cpu", name=self.name, optimizer=optimizer, scheduler=self.scheduler_f)


def _push(push: Callable[..., None], values: Any) -> None:
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


def by_device(values: Mapping[str, Mapping[str, Any]], device: Device | None = None) -> list[dict[str, Tensor]]:
    """Return what stages have as a mapping for each device."""
    chosen = STATE.devices if device is None else [device]
    return [{name: Tensor(x) for stage, part in values.items() if STATE.stages[stage] is one for name, x in part.items()} for one in chosen]


def pipeline(*, training: bool, sequential: bool = False, **settings: Any) -> Pipeline:
    """Return the pipeline of the devices, made now if there is none of the kind.  Raises E0101."""
    if STATE.pipeline is not None and STATE.training == training:
        return STATE.pipeline
    last = STATE.devices[-1] if STATE.devices else None
    if training and (last is None or last.loss is None):
        raise Error("E0101", "the last device in the pipeline must have a loss module", hint="place_loss_module")
    plans = [(device, device.place(), module) for device in STATE.devices for module in device.modules]
    if not plans:
        raise Error("E0101", "no module is placed on a device", hint="device.place_module")
    loss = last.loss.stage if training and last is not None else None
    mode = "sequential" if sequential or training else "threads"
    places = {id(device): place for device, place, _ in plans}
    made = Pipeline([(places[id(d)], m.stage) for d, _, m in plans], loss=loss, mode=mode, **settings)
    STATE.pipeline, STATE.training = made, training
    STATE.stages = dict(zip(made.stages, (device for device, _, _ in plans), strict=True))
    for device in STATE.devices:
        for values in device.inputs:
            _push(made.push, values)
        for values in device.targets if training else ():
            _push(made.push_target, values)
        device.inputs, device.targets = [], device.targets if not training else []
    return made


def current() -> Pipeline:
    """Return the pipeline that was initialized.  Raises E0101 if there is none."""
    if STATE.pipeline is None:
        raise Error("E0101", "there is no pipeline", hint="pybuda.initialize_pipeline")
    return STATE.pipeline

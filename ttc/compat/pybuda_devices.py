"""Devices of PyBuda as devices of ttc."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ttc.api import compile
from ttc.compat.names import Refusing, ignored
from ttc.compat.pybuda_config import CONFIG
from ttc.compat.pybuda_enums import REFUSED_OF_DEVICES
from ttc.compat.pybuda_image import TTDeviceImage
from ttc.compat.pybuda_modules import Module, PyBudaModule, Tensor, TFModule, plain
from ttc.compat.pybuda_state import STATE, by_device, current, push_into
from ttc.dialects.core.errors import Error, nearest
from ttc.pipeline.device import Device as Place

ARCHES = {"Grayskull": "e150", "Wormhole": "n150", "Wormhole_B0": "n150", "Blackhole": "p150"}


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
            push_into(STATE.pipeline.push, values)

    def push_to_target_inputs(self, *tensors: Any) -> None:
        """Push the targets of one microbatch."""
        values = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
        if STATE.pipeline is None:
            self.targets.append(values)
        else:
            push_into(STATE.pipeline.push_target, values)

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
        """Take microbatches back through all devices; zero_grad forgets the gradients of all before."""
        if zero_grad:
            current().clear(waiting=False)
        current().backward(loop_count)

    def sync(self) -> None:
        """Wait until what was asked for is done."""
        current().wait()

    def __getattr__(self, name: str) -> Any:
        Refusing(type(self).__name__, REFUSED_OF_DEVICES)(name)


_BOARDS = {("n150", 2): "n300", ("n300", 2): "n300"}
"""Targets that have so many chips."""
IGNORED_OF_DEVICES = {
    "devtype": "this machine computes what a device would, whichever is asked for",
    "device_mode": "a device compiles and runs",
    "fp32_fallback": "`format` and rules of precision choose formats",
    "mp_context": "calls run in the process that makes them",
    "retain_backward_graph": "each microbatch keeps its own graph",
    "input_dtypes": "inputs have the types they are pushed with",
}
"""Arguments of devices without effect, with the reason."""


def _say_ignored(device: str, settings: Mapping[str, Any]) -> None:
    """Say of arguments that they have no effect.  Raises E0101 for unknown ones."""
    for name, value in settings.items():
        if name in IGNORED_OF_DEVICES and value is not None:
            ignored(f"{name} of {device}", IGNORED_OF_DEVICES[name])
        elif name not in (*IGNORED_OF_DEVICES, "optimizer", "scheduler", "module"):
            raise Error("E0101", f"{device} takes no '{name[:80]}'", hint=nearest(name, IGNORED_OF_DEVICES))


class TTDevice(Device):
    """A device that modules are compiled for; nothing is driven: the machine computes what it would."""

    def __init__(self, name: str, num_chips: int | None = None, chip_ids: Any = None, arch: Any = None, *_: Any, **settings: Any) -> None:
        self.optimizer, self.scheduler = settings.get("optimizer"), settings.get("scheduler")
        self.chips = num_chips or (len(chip_ids) if chip_ids else None)
        self.target = ARCHES.get(getattr(arch, "name", str(arch)), "n150")
        _say_ignored("TTDevice", settings)
        super().__init__(name, settings.get("module"))

    def place(self) -> Place:
        """Return the device as one of ttc."""
        optimizer = getattr(self.optimizer, "ours", self.optimizer)
        fields = self.fields()
        return Place(fields.pop("target"), name=self.name, optimizer=optimizer, scheduler=self.scheduler, **CONFIG.training, **fields)

    def fields(self) -> dict[str, Any]:
        """Return the options that its modules are compiled with; two chips are those of one board, and more those of a cluster."""
        fields = {"target": self.target, **CONFIG.fields()}
        if self.chips is None or self.chips < 2 or fields.get("cluster"):
            return fields | ({"chips": self.chips} if self.chips and self.chips > 1 else {})
        board = _BOARDS.get((fields["target"], self.chips))
        if board is None:
            ignored(f"num_chips of TTDevice beyond the chips of {fields['target']}", "backend_cluster_descriptor_path describes several")
            return fields
        return fields | {"target": board, "chips": self.chips}

    def compile_to_image(
        self, *, img_path: str = "image.tti", training: bool = False, sample_inputs: Sequence[Any] = (), **_ignored: Any
    ) -> TTDeviceImage:
        """Compile its module into an archive of ttc, in training without its loss, and return the image.

        Raises: E0105 unless it has one module, and what compiling raises.
        """
        if len(self.modules) != 1:
            raise Error("E0105", "an image has one module", hint="place one module on the device")
        own = {"training": True, "stash": True, "optimizer": getattr(self.optimizer, "ours", self.optimizer), **CONFIG.training}
        trained = own if training else {}
        fields = {**self.fields(), **{key: value for key, value in trained.items() if value is not None}}
        compile(self.modules[0].stage, tuple(map(plain, sample_inputs)), **fields).save(img_path)
        return TTDeviceImage(img_path)

    @staticmethod
    def load_image(*, img_path: str | None = None, img: TTDeviceImage | None = None) -> TTDevice:
        """Return a device whose module is an archive of ttc; its optimizer is that of the archive.  Raises E0102, E0101."""
        if img is None and img_path is None:
            raise Error("E0101", "there is no image", hint="give img_path or img")
        image = TTDeviceImage(img_path) if img is None else img
        return TTDevice(image.path.stem, module=TFModule(image.path.stem, str(image.path)), optimizer=image.optimizer)


class _Parameters(list[Any]):
    """Parameters of PyTorch for a function that takes them, or a module that has them."""

    def parameters(self) -> list[Any]:
        return self


class CPUDevice(Device):
    """The CPU, where modules of PyTorch run eagerly."""

    def __init__(self, name: str, optimizer_f: Any = None, scheduler_f: Any = None, *_: Any, **settings: Any) -> None:
        self.optimizer_f, self.scheduler_f = optimizer_f, scheduler_f
        _say_ignored("CPUDevice", settings)
        super().__init__(name, settings.get("module"))

    def place(self) -> Place:
        """Return the device as one of ttc."""
        made = self.optimizer_f
        optimizer: Callable[[Any], Any] | None = None if made is None else lambda parameters: made(_Parameters(parameters))
        return Place("cpu", name=self.name, optimizer=optimizer, scheduler=self.scheduler_f)

"""The run API of PyBuda on the pipeline of its devices."""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from typing import Any

from ttc.compat.names import ignored
from ttc.compat.pybuda_config import CONFIG
from ttc.compat.pybuda_devices import Device, TTDevice
from ttc.compat.pybuda_modules import Module, Tensor, plain
from ttc.compat.pybuda_state import STATE, Intermediates, Sink, by_device, current, outputs_of, pipeline, push_into
from ttc.dialects.core.errors import Error


def run_inference(
    module: Any = None,
    inputs: Sequence[Any] = (),
    input_count: int = 1,
    output_queue: Any = None,
    _sequential: bool = False,
    _perf_trace: bool = False,
    _verify_cfg: Any = None,
) -> Any:
    """Run microbatches through all devices, and return the queue of their outputs, a list of tensors each."""
    if module is not None and module.device is None:
        TTDevice(f"auto_tt{len(STATE.devices)}", module=module)
    if inputs and input_count not in (1, len(inputs)):
        raise Error("E0101", f"input_count is {input_count}, and there are {len(inputs)} inputs")
    _say_trace(_perf_trace)
    made = pipeline(training=False, sequential=_sequential, verify_cfg=_verify_cfg)
    for values in inputs:
        push_into(made.push, values if isinstance(values, tuple | list | Mapping) else (values,))
    results = queue.Queue() if output_queue is None else output_queue
    made.run_inference(len(inputs) or input_count, Sink(results, outputs_of))
    return results


def _say_trace(perf_trace: bool) -> None:
    if perf_trace:
        ignored("_perf_trace", "`ttc perf` tells where time goes")


def run_training(
    epochs: int = 1,
    steps: int = 1,
    accumulation_steps: int = 1,
    microbatch_count: int = 1,
    checkpoint_queue: Any = None,
    loss_queue: Any = None,
    checkpoint_interval: int = 0,
    _sequential: bool = False,
    _perf_trace: bool = False,
    _verify_cfg: Any = None,
    *,
    micro_batch_count: int | None = None,
    keep_alive: bool = False,
) -> Any:
    """Train, and return the queue of checkpoints, whose last has the final parameters."""
    _say_trace(_perf_trace)
    if keep_alive:
        ignored("keep_alive", "a pipeline stays as it is until shutdown()")
    results = queue.Queue() if checkpoint_queue is None else checkpoint_queue
    pipeline(training=True, sequential=_sequential, verify_cfg=_verify_cfg).run_training(
        epochs,
        steps,
        accumulation_steps,
        micro_batch_count or microbatch_count,
        checkpoint_interval=checkpoint_interval,
        checkpoints=Sink(results, by_device),
        losses=None if loss_queue is None else Sink(loss_queue, Tensor),
    )
    return results


def initialize_pipeline(
    training: bool,
    output_queue: Any = None,
    checkpoint_queue: Any = None,
    sample_inputs: Any = (),
    sample_targets: Any = (),
    microbatch_count: int = 1,
    d2d_fwd_queues: Sequence[Any] = (),
    d2d_bwd_queues: Sequence[Any] = (),
    _sequential: bool = False,
    _verify_cfg: Any = None,
    _device_mode: Any = None,
) -> Any:
    """Compile the devices, and return the queue of outputs, in training that of checkpoints."""
    if checkpoint_queue is not None and not training:
        raise Error("E0101", "checkpoint_queue is for training")
    STATE.changed()
    if _device_mode is not None:
        ignored("_device_mode", "a device compiles and runs")
    made = pipeline(
        training=training, sequential=_sequential, verify_cfg=_verify_cfg, forward_queues=d2d_fwd_queues, backward_queues=d2d_bwd_queues
    )
    made.compile(*map(plain, sample_inputs.values() if isinstance(sample_inputs, Mapping) else sample_inputs))
    STATE.outputs = queue.Queue() if output_queue is None else output_queue
    STATE.checkpoints = queue.Queue() if checkpoint_queue is None else checkpoint_queue
    return STATE.checkpoints if training else STATE.outputs


def run_forward(input_count: int = 1, _sequential: bool = False) -> None:
    """Take microbatches forward; outputs of inference go to the queue of `initialize_pipeline`."""
    if STATE.training:
        current().forward(input_count)
    else:
        current().run_inference(input_count, Sink(STATE.outputs, outputs_of))


def run_backward(input_count: int = 1, zero_grad: bool = False, _sequential: bool = False) -> None:
    """Take microbatches back; zero_grad forgets the gradients that are there before."""
    if zero_grad:
        current().clear(waiting=False)
    STATE.losses.append(current().backward(input_count))


def run_optimizer(checkpoint: bool = False, _sequential: bool = False) -> None:
    """Update the parameters of all devices by the accumulated gradients."""
    current().update()
    if checkpoint:
        STATE.checkpoints.put(get_parameter_checkpoint())


def run_schedulers(_sequential: bool = False) -> None:
    """Go on to the next learning rates."""
    current().step_schedules()


def get_parameter_checkpoint(device: Device | None = None, _sequential: bool = False) -> list[dict[str, Tensor]]:
    """Return the parameters of each device."""
    return by_device(current().parameters(), device)


def get_parameter_gradients(device: Device | None = None, _sequential: bool = False) -> list[dict[str, Tensor]]:
    """Return the accumulated gradients of each device."""
    return by_device(current().gradients(), device)


def update_device_parameters(device: Device | None = None, parameters: Sequence[Any] = (), _sequential: bool = False) -> None:
    """Give parameters of devices new values, a mapping for each device."""
    chosen = STATE.devices if device is None else [device]
    for one, values in zip(chosen, parameters, strict=True):
        for stage in (name for name, owner in STATE.stages.items() if owner is one):
            known = current().parameters(stage)
            current().set_parameters({name: plain(x) for name, x in values.items() if name in known}, stage)


def get_intermediates_queue() -> Intermediates:
    """Return the queue of the values of ops that op_intermediates_to_save names."""
    return Intermediates()


def set_device_pipeline(devices: Sequence[Device]) -> None:
    """Say in which order the devices follow each other."""
    STATE.devices = list(devices)
    STATE.changed()


def detect_available_devices() -> list[Any]:
    """Return the devices of this machine: none, as none is driven."""
    return []


def sync() -> None:
    """Wait until what was asked for is done."""
    current().wait()


def shutdown() -> None:
    """End the pipeline, and forget all devices."""
    STATE.changed()
    STATE.devices.clear()


def pybuda_reset() -> None:
    """End the pipeline, forget all devices, and all options and overrides."""
    shutdown()
    CONFIG.clear()


def error_raised() -> bool:
    """Return False: errors are raised where they happen."""
    return False


Module.runner = staticmethod(run_inference)
CALLS = {
    f.__name__: f
    for f in (
        *(run_inference, run_training, initialize_pipeline, run_forward, run_backward, run_optimizer, run_schedulers, sync, shutdown),
        *(get_parameter_checkpoint, get_parameter_gradients, update_device_parameters, set_device_pipeline, detect_available_devices),
        *(error_raised, pybuda_reset, get_intermediates_queue),
    )
}
"""The functions of the run API by name."""

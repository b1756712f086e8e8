"""Modules of PyBuda that are run to be verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ttc.compat.names import submodule
from ttc.compat.pybuda_devices import CPUDevice, TTDevice
from ttc.compat.pybuda_modules import PyTorchModule, plain
from ttc.compat.pybuda_optim import optimizer_of
from ttc.compat.pybuda_run import run_inference, run_training, shutdown
from ttc.compat.pybuda_state import STATE, outputs_of
from ttc.compat.pybuda_verify import TestKind, VerifyConfig, compare_tensor_to_golden, config, drawn
from ttc.pipeline.pipeline import Pipeline


def verify_module(
    module: Any,
    input_shapes: Sequence[Any],
    verify_cfg: Any = None,
    input_params: Sequence[Mapping[str, Any]] = (),
    *,
    inputs: Sequence[Any] = (),
    loss_module: Any = None,
    **_scales: Any,
) -> None:
    """Run a module on drawn or given inputs, and compare it with PyTorch, or with the reference engine.

    Args:
        input_shapes: of the inputs that are drawn; `data_format` of input_params says of what type.
        verify_cfg: whether it is trained, and tolerances.
        loss_module: of training; default: the mean absolute difference to a drawn target.
    Raises: E0812 where numbers are out of the tolerances.
    """
    verify_module_pipeline([module], input_shapes, verify_cfg, input_params=input_params, inputs=inputs, loss_module=loss_module)


def verify_module_pipeline(
    modules: Sequence[Any],
    input_shapes: Sequence[Any],
    verify_cfg: Any = None,
    device_types: Sequence[str] = (),
    *,
    input_params: Sequence[Mapping[str, Any]] = (),
    inputs: Sequence[Any] = (),
    loss_module: Any = None,
    **_scales: Any,
) -> None:
    """Run modules on a device each, one after another, and compare them as verify_module does.

    Args:   device_types: TTDevice or CPUDevice, for each module.
    """
    shutdown()
    wanted = VerifyConfig() if verify_cfg is None else verify_cfg
    training, count = wanted.test_kind.is_training(), wanted.epochs * wanted.steps * wanted.accumulation_steps * wanted.microbatch_count
    optimizer = optimizer_of(wanted.optimizer) if training else None
    kinds = [*device_types, *(["TTDevice"] * (len(modules) - len(device_types)))]
    for number, (kind, module) in enumerate(zip(kinds, modules, strict=True)):
        if kind == "CPUDevice":
            CPUDevice(f"cpu{number}", module=module)
        else:
            TTDevice(f"tt{number}", arch=wanted.arch, optimizer=optimizer, module=module)
    params = [*input_params, *({} for _ in range(len(input_shapes) - len(input_params)))]
    given = list(inputs) or [[drawn(shape, own) for shape, own in zip(input_shapes, params, strict=True)]]
    microbatches = [given[number % len(given)] for number in range(count if training else len(given))]
    try:
        if not training:
            run_inference(inputs=microbatches, input_count=len(microbatches), _sequential=True, _verify_cfg=wanted)
            return
        shapes = [tuple(x.shape) for x in outputs_like(modules, microbatches[0])]
        STATE.devices[-1].place_loss_module(loss_module or PyTorchModule("loss", torch.nn.L1Loss()))
        for values in microbatches:
            STATE.devices[0].push_to_inputs(tuple(values))
            STATE.devices[-1].push_to_target_inputs(*(drawn(shape, {}) for shape in shapes))
        run_training(wanted.epochs, wanted.steps, wanted.accumulation_steps, wanted.microbatch_count, _sequential=True, _verify_cfg=wanted)
    finally:
        shutdown()


def outputs_like(modules: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Return the outputs of modules in inference, for the shapes of targets."""
    made = Pipeline([("host", module.stage) for module in modules])
    try:
        return [value.value() for value in outputs_of(made.run_inference(inputs=[tuple(map(plain, inputs))]).get())]
    finally:
        made.shutdown()


_NAMES = {
    "VerifyConfig": config,
    "TestKind": TestKind,
    "compare_tensor_to_golden": compare_tensor_to_golden,
    "verify_module": verify_module,
    "verify_module_pipeline": verify_module_pipeline,
}
_INNER = {part: submodule("pybuda.verify", part, _NAMES) for part in ("config", "backend", "compare")}
VERIFY = {"verify": submodule("pybuda", "verify", {**_NAMES, **_INNER}), **{f"verify.{part}": made for part, made in _INNER.items()}}
"""VERIFY has pybuda.verify, and what is in it."""

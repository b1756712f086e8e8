"""Verification of PyBuda: `verify=` of ttc.Pipeline, with PyBuda's tolerances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any

import torch

from ttc.accuracy.distances import compare
from ttc.compat.names import ignored
from ttc.compat.pybuda_modules import PyTorchModule, plain
from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record
from ttc.pipeline.verified import Bounds, Verify


class TestKind(Enum):
    """Kinds of verification: of inference, of training, and of training that computes activations again, which changes no number."""

    __test__ = False
    INFERENCE, TRAINING, TRAINING_RECOMPUTE = range(3)

    def is_training(self) -> bool:
        """Return whether parameters are trained."""
        return self is not TestKind.INFERENCE

    @staticmethod
    def get_all() -> list[TestKind]:
        """Return every kind of test, in order."""
        return list(TestKind)


_ALWAYS = "every output, gradient and updated parameter of every stage is compared"
_HERE = "this machine computes what devices would"
_PASSES = "what programs give is compared, and not what single passes do"
_NO_VERDICT = "it changes no verdict"
EFFECTLESS = {
    **dict.fromkeys(("verify_all", "verify_last", "verify_post_autograd_passes", "verify_post_placer", "intermediates"), _ALWAYS),
    **dict.fromkeys(("run_golden", "run_net2pipe", "devtype", "verify_pipeline_result_vs_framework"), _HERE),
    **dict.fromkeys(("verify_each_buda_pass", "verify_tvm_compile", "verify_pybuda_codegen_vs_framework"), _PASSES),
    **dict.fromkeys(("sequential", "scale_loss", "fp32_fallback", "skip_shutdown", "dump_tensors_path", "tti_path"), _NO_VERDICT),
    "waive_gradient_errors": "wider tolerances waive errors",
    "golden_compare_callback": "`verdicts` of ttc.Pipeline are all comparisons",
}
"""Settings of a VerifyConfig that are taken and have no effect, and why."""


@record(frozen=False)
class VerifyConfig:
    """Says how stages are verified.

    Args:
        enabled: whether they are.
        test_kind: of verify_module.
        pcc: the correlation at least; None: 0.99.
        atol, rtol: by type of PyTorch: the largest difference allowed, absolutely and relative to the largest number; both are added.
        relative_atol: the largest difference relative to the largest number, where none of the two is given.
        arch: of verify_module's device.
        optimizer: {"type": "sgd", "params": {"learning_rate": 0.1}} of verify_module.
        epochs, steps, accumulation_steps, microbatch_count: of its training.
        others: settings without effect.
    """

    enabled: bool = True
    test_kind: TestKind = TestKind.INFERENCE
    pcc: float | None = None
    atol: Any = None
    rtol: Any = None
    relative_atol: float = 0.1
    arch: Any = None
    optimizer: Mapping[str, Any] = field(default_factory=lambda: {"type": "sgd", "params": {"learning_rate": 0.1}})
    epochs: int = 1
    steps: int = 1
    accumulation_steps: int = 1
    microbatch_count: int = 1

    def verify(self, modules: Sequence[Any]) -> Verify | None:
        """Return the settings as `verify=` of ttc.Pipeline: against PyTorch where all modules are of PyTorch, else against the reference
        engine.
        """
        if not self.enabled:
            return None
        against = "torch" if all(isinstance(module, PyTorchModule) for module in modules) else "golden"
        return Verify(against, Bounds(self.bound, math.inf, 0.99 if self.pcc is None else self.pcc))

    @property
    def bound(self) -> float:
        """Return the largest difference, relative to the largest number or 1."""
        found = [limit for value in (self.atol, self.rtol) if (limit := _of(value)) is not None]
        return sum(found) if found else self.relative_atol


def _of(value: Any) -> float | None:
    """Return a tolerance, or that of float32 where there is one by type."""
    return value.get(torch.float32) if isinstance(value, Mapping) else value


def config(**settings: Any) -> VerifyConfig:
    """Make a VerifyConfig; settings without effect say so.  Raises E0101 for unknown ones."""
    own = {name: value for name, value in settings.items() if name in VerifyConfig.__dataclass_fields__}
    for name in settings:
        if name in EFFECTLESS:
            ignored(f"{name} of pybuda.VerifyConfig", EFFECTLESS[name])
        elif name not in own:
            raise Error(
                "E0101", f"VerifyConfig has no setting '{name[:80]}'", hint=nearest(name, [*VerifyConfig.__dataclass_fields__, *EFFECTLESS])
            )
    return VerifyConfig(**own)


def compare_tensor_to_golden(
    name: str, golden: Any, calculated: Any, rtol: Any = None, atol: Any = None, pcc: Any = None, **_: Any
) -> bool:
    """Return whether a tensor is near its reference, by PyBuda's tolerances, which hold together here.  name: for messages of PyBuda."""
    a, b = (plain(value).detach().float() for value in (calculated, golden))
    if a.numel() != b.numel():
        return False
    limits = VerifyConfig(pcc=pcc, atol=atol, rtol=rtol)
    return Bounds(limits.bound, math.inf, 0.99 if pcc is None else pcc).hold(compare(a.reshape(b.shape).numpy(), b.numpy()))


def drawn(shape: Sequence[int], settings: Mapping[str, Any]) -> torch.Tensor:
    """Return an input of a shape as verify_module draws it: of `data_format`, from a normal distribution or of integers below 2."""
    kind = settings.get("data_format", settings.get("dev_data_format", torch.float32))
    kind = kind if isinstance(kind, torch.dtype) else torch.float32
    generator = torch.Generator().manual_seed(len(shape))
    if not kind.is_floating_point:
        return torch.randint(0, 2, tuple(shape), generator=generator, dtype=kind)
    return torch.randn(tuple(shape), generator=generator).to(kind)

"""One model that is cut into the stages of a pipeline, once the shapes of its inputs are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ttc.api import is_by_hand, is_file, is_tensorflow, is_torch
from ttc.compiler.training_keywords import is_module
from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.pipeline.building import GivenStage
from ttc.pipeline.modules import imported
from ttc.pipeline.stage import Arrays, tensor


@record(eq=False)
class Whole:
    """A model, and how it is cut; see `ttc.cut`.

    Args:
        training: whether its stages are trained.
    """

    model: Any
    plan: Any
    strict: bool
    training: bool

    def cut(self, plans: Sequence[GivenStage], examples: Arrays) -> list[GivenStage]:
        """Return the plans of the stages, each with its part of the model.  Raises E0101 for another number of stages, and as `ttc.cut`."""
        parts = self._parts(plans[0], examples)
        if len(parts) != len(plans):
            message = f"the model is cut into {len(parts)} stages, and there are {len(plans)} devices"
            raise Error("E0101", message, hint="mark stages by ttc.stage in the model, or give a plan; each has a device")
        return [replace(plan, module=part) for plan, part in zip(plans, parts, strict=True)]

    def _parts(self, first: GivenStage, examples: Arrays) -> Sequence[Any]:
        if is_module(self.model):
            from ttc.stages.cutting import cut

            given = tuple(tensor(array.copy()) for array in examples)
            return cut(self.model, given, self.plan, strict=self.strict, training=True if self.training else None)
        from ttc.stages.imported import cut_imported

        return cut_imported(imported(self.model, examples, first.device), self.plan, strict=self.strict, training=self.training)


def pairs_of(stages: Any, devices: Any, plan: Any) -> Any:
    """Return pairs of a device and a module, which is the model itself where one is cut.  Raises E0101 for what does not go together."""
    if is_whole(stages):
        if devices is None or isinstance(devices, str):
            raise Error("E0101", "a model that is cut into stages takes a device for each", hint='devices=["n150:0", "n150:1"]')
        return [(device, stages) for device in devices]
    if devices is not None or plan is not None:
        what = "a plan goes" if devices is None else "devices go"
        raise Error("E0101", f"{what} with one model that is cut", hint="stages are pairs of a device and a module")
    return stages


def is_whole(stages: Any) -> bool:
    """Return whether a user gives one model, and no stages."""
    return is_file(stages) or is_torch(stages) or is_tensorflow(stages) or is_by_hand(stages)

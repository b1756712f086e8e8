"""A model in stages, as executors over rows take it: what they do not do with stages, and the pipeline that they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

if TYPE_CHECKING:
    from ttc.pipeline.by_rows import StagedUpdates
    from ttc.pipeline.forward_stages import ForwardStages
    from ttc.pipeline.pipeline import Pipeline

OF_PIPELINES = ("clip_norm", "seed", "patience", "strict")
"""Options of executors over stages that `ttc.Pipeline` takes, and not its devices."""


@record(eq=False)
class Staged:
    """How a model is cut into stages on devices, which an executor trains or runs.

    Args:
        devices, plan, schedule, mode: as `ttc.Pipeline` takes them.
        fields: options of `ttc.training` or `ttc.inference` besides, of devices that are named by their places alone.
    """

    devices: Sequence[Any]
    plan: Mapping[str, int] | None
    schedule: str
    mode: str
    fields: Mapping[str, Any]

    def check_training(self, loss: Any, example_inputs: Any, reduction: str) -> None:
        """Raise E0101 for what executors of stages do not do in training."""
        refused = {
            "loss=None": loss is None,
            "loss='marked'": isinstance(loss, str) and loss == "marked",
            "reduction='sum'": reduction != "mean",
        }
        self._refuse(refused)
        self.check(example_inputs)

    def check(self, example_inputs: Any) -> None:
        """Raise E0101 for what executors of stages do not do."""
        refused = {
            "example_inputs": example_inputs is not None,
            "device 'cpu'": any(device == "cpu" or getattr(device, "is_cpu", False) for device in self.devices),
        }
        self._refuse(refused)

    def _refuse(self, refused: Mapping[str, bool]) -> None:
        for what, is_so in refused.items():
            if is_so:
                raise Error("E0101", f"an executor over stages does not take {what}", hint="ttc.Pipeline, or leave out devices=")

    def made(self, model: Any, loss: Any, optimizer: Any, examples: Sequence[Any], targets: int, replicas: int) -> StagedUpdates:
        """Return what updates the stages.  Raises what `ttc.Pipeline` raises."""
        from ttc.pipeline.by_rows import StagedUpdates, StageOptimizers

        optimizers = None if optimizer is None else StageOptimizers(optimizer)
        pipeline = self._pipeline(model, loss=loss, optimizer=None if optimizers is None else optimizers.of_stages)
        return StagedUpdates(pipeline, examples, optimizers, targets=targets, replicas=replicas)

    def forward(self, model: Any, examples: Sequence[Any], replicas: int) -> ForwardStages:
        """Return what runs the stages.  Raises what `ttc.Pipeline` raises."""
        from ttc.pipeline.forward_stages import ForwardStages

        return ForwardStages(self._pipeline(model), examples, replicas)

    def _pipeline(self, model: Any, **of_training: Any) -> Pipeline:
        from ttc.pipeline.device import Device
        from ttc.pipeline.pipeline import Pipeline

        own = {name: value for name, value in self.fields.items() if value is not None and name not in ("target", *OF_PIPELINES)}
        places = {device: Device(device, **own) for device in self.devices if isinstance(device, str)}
        return Pipeline(
            model,
            devices=[places.get(device, device) if isinstance(device, str) else device for device in self.devices],
            plan=self.plan,
            schedule=self.schedule,
            mode=self.mode,
            room=None,
            **{name: self.fields[name] for name in OF_PIPELINES if self.fields.get(name) is not None},
            **of_training,
        )

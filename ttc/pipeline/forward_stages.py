"""The stages of a pipeline as `ttc.inference` has a model: one set of weights, and rows that go through all devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from ttc.pipeline.by_rows import StagesSession
from ttc.pipeline.compiled_stage import CompiledStage
from ttc.pipeline.pipeline import Pipeline
from ttc.runtime.machine.session import Session
from ttc.train.host import taken
from ttc.train.instances import Named
from ttc.train.rows import parts


class ForwardStages:
    """A model in stages that runs on the rows of calls.  Replicas take turns on its devices, as microbatches do.

    Args:
        pipeline: of the model, without a loss.
        examples: inputs of one microbatch.
        replicas: that share the rows of an iteration.
    """

    def __init__(self, pipeline: Pipeline, examples: Sequence[Any], replicas: int) -> None:
        self._pipeline, self._replicas = pipeline, replicas
        flow = pipeline.ready(tuple(np.ascontiguousarray(taken(value)) for value in examples))
        stages = cast("list[CompiledStage]", flow.stages)
        self._outputs = stages[-1].outputs
        self.sessions = [cast("Session", StagesSession(stages, None, lambda: 0.0))]

    def run(self, iterations: Iterable[Named]) -> list[list[Named]]:
        """Return for each iteration the outputs of every replica; the microbatches of all are on their way at once.

        Raises: as `Pipeline.run_inference` does.
        """
        shares = [tuple(share.values()) for rows in iterations for share in parts(rows, self._replicas)]
        found = _Outputs()
        self._pipeline.run_inference(queue=found, inputs=shares)
        self._pipeline.wait()
        named: list[Named] = [dict(zip(self._outputs, item if isinstance(item, tuple) else (item,), strict=True)) for item in found.items]
        return [named[first : first + self._replicas] for first in range(0, len(named), self._replicas)]

    def close(self) -> None:
        """Give up the memory of all stages, and end threads and processes."""
        self._pipeline.shutdown()


class _Outputs:
    """Keeps all that is put into it."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        del block, timeout
        self.items.append(item)

    def full(self) -> bool:
        return False

"""Loaders of PopTorch, which give the rows of a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ttc.compat.names import ignored
from ttc.compat.poptorch_options import DataLoaderMode, Options


class DataLoader(torch.utils.data.DataLoader[Any]):
    """The loader of torch whose batches have the rows of a call of these options, as `ttc.DataLoader` gives them."""

    def __init__(
        self,
        options: Options,
        dataset: Any,
        batch_size: int = 1,
        shuffle: Any = None,
        num_workers: int = 0,
        drop_last: bool = True,
        *,
        mode: DataLoaderMode = DataLoaderMode.Sync,
        **settings: Any,
    ) -> None:
        for name in [name for name in EFFECTLESS if settings.pop(name, None) is not None]:
            ignored(f"{name} of poptorch.DataLoader", EFFECTLESS[name])
        if mode is not DataLoaderMode.Sync:
            ignored("mode of poptorch.DataLoader", EFFECTLESS["async_options"])
        self.options = options
        self.combinedBatchSize = batch_size * options.iterations * options.replicas * options.Training.accumulation
        super().__init__(dataset, self.combinedBatchSize, shuffle, num_workers=num_workers, drop_last=drop_last, **settings)

    def terminate(self) -> None:
        """Do nothing: nothing is loaded ahead."""


EFFECTLESS = {
    "async_options": "rows are loaded when they are asked for",
    "auto_distributed_partitioning": "there is one process",
    "rebatched_worker_size": "rows are loaded when they are asked for",
    "miss_sleep_time_in_ms": "rows are loaded when they are asked for",
}
"""Arguments of a DataLoader that change nothing, and why."""


class AsynchronousDataAccessor:
    """A loader as it is: nothing is loaded ahead."""

    def __init__(self, dataset: Any, **_settings: Any) -> None:
        ignored("poptorch.AsynchronousDataAccessor", EFFECTLESS["async_options"])
        self._dataset = dataset

    def __iter__(self) -> Iterator[Any]:
        return iter(self._dataset)

    def __len__(self) -> int:
        return len(self._dataset)

    def terminate(self) -> None:
        """Do nothing: nothing is loaded ahead."""


DATA = {"DataLoader": DataLoader, "AsynchronousDataAccessor": AsynchronousDataAccessor}
"""The loaders of PopTorch by name."""

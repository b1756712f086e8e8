"""A run of one process, as all of them begin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from ttc.dist import Mesh, mesh


@pytest.fixture
def alone() -> Iterator[Mesh]:
    """Fixture of a mesh of one process."""
    yield mesh(pipe=1)
    torch.distributed.destroy_process_group()

"""Threads of PyTorch, on which compiled graphs run."""

from __future__ import annotations

import ctypes
from functools import cache

import torch

from ttc.runtime.engines.native.execution.pool import Team, join_team


@cache
def share_threads() -> None:
    """Run what the native engine computes in this process on the threads of PyTorch's OpenMP library, where it has one.

    They wait for the next work without sleep for milliseconds, so that other threads would have no core beside them.
    """
    team = Team.of(ctypes.CDLL(torch._C.__file__))
    if team is not None:
        join_team(team)

"""Profiles what goes on in a process: regions of the user, runs, jobs on devices with their rates, compilations, waits.

    with ttc.profiler.profile("trace.json") as profiler:
        with ttc.profiler.region("step"):
            executor.run(inputs)
    print(profiler.summary())

A trace (chrome), which Perfetto opens, has lanes for threads, for what computes jobs, and for the cores of devices that the performance
model simulates (simulated).
Traces of several processes, and of PyTorch's profiler, become one (merging); times are added up by name (summary).
Variable TTC_PROFILE profiles a whole process (variable).
"""

from __future__ import annotations

from ttc.profiler.merging import merge
from ttc.profiler.profile import Profiler, profile
from ttc.runtime.tracing import region

__all__ = ["Profiler", "merge", "profile", "region"]

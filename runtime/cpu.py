"""The CPU that this process may use."""

from __future__ import annotations

import os
from math import ceil
from pathlib import Path

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def available_cores(quota_file: Path = _CGROUP_QUOTA) -> int:
    """Cores by affinity, and by the quota of the control group (`<microseconds>|max <period>`) where one is set; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text(encoding="ascii").split()
        return max(1, min(cores, ceil(int(quota) / int(period))))
    except (OSError, ValueError, ZeroDivisionError):
        return max(1, cores)

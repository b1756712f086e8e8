"""What the machine can do at most."""

from __future__ import annotations

import pytest

from ttc.reports.roofline import Roofline, measured_roofline


def test_work_takes_the_longer_of_arithmetic_and_bytes() -> None:
    machine = Roofline(2, flops_per_second=100.0, bytes_per_second=10.0)
    assert machine.seconds(200, 10) == 2
    assert machine.seconds(200, 50) == 5


@pytest.mark.parametrize("threads", [1, 2])
def test_measured(threads: int) -> None:
    """Any x86-64 of this century multiplies and adds 1e8 times a second at least, and none 1e14 times on two cores."""
    found = measured_roofline(threads)
    assert found.threads == threads
    assert 1e8 < found.flops_per_second < 1e14
    assert 1e8 < found.bytes_per_second < 1e13

"""What a run may use."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.machine.limits import Limits, Meter


@pytest.mark.parametrize(
    "use",
    [
        lambda meter: meter.step(),
        lambda meter: meter.epoch(1, 0),
        lambda meter: meter.epoch(0, 1) or meter.epoch(1, 1),
        lambda meter: meter.entries(1),
        lambda meter: meter.hold(1, "x"),
    ],
)
def test_each_limit_is_reached_but_not_passed(use: Callable[[Meter], None]):
    meter = Meter(Limits(steps=3, microbatches=3, size_bytes=3, work=3))
    for _ in range(3):
        use(meter)
    with pytest.raises(Error) as failure:
        use(meter)
    assert failure.value.code == "E0805"


def test_what_is_given_up_does_not_count():
    meter = Meter(Limits(size_bytes=10))
    meter.hold(10, "x")
    meter.release(6)
    meter.fits(1, "x")
    with pytest.raises(Error, match="where"):
        meter.fits(2, "where")


def test_instructions_to_come():
    meter = Meter(Limits(steps=10))
    meter.step()
    meter.foresee(9)
    with pytest.raises(Error, match="E0805"):
        meter.foresee(10)

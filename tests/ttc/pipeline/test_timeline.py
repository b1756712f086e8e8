"""The simulator gives the times that follow from schedules."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.pipeline.orders import StageWork, order_of
from ttc.pipeline.timeline import simulate


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("devices", "microbatches"), [(1, 3), (2, 4), (4, 8), (3, 1)])
def test_the_bubble_of_equal_stages(schedule: str, devices: int, microbatches: int) -> None:
    found = simulate(order_of(schedule, devices, microbatches), [1.0] * devices)
    assert found.length == 3 * (microbatches + devices - 1)
    assert found.busy == (3.0 * microbatches,) * devices
    assert found.bubble == pytest.approx((devices - 1) / (microbatches + devices - 1))
    assert found.idle == (3.0 * (devices - 1),) * devices


def test_one_microbatch_at_a_time_keeps_one_device_busy() -> None:
    assert simulate(order_of("sequential", 4, 5), [1.0] * 4).bubble == pytest.approx(3 / 4)


def test_several_stages_a_device_make_the_bubble_smaller() -> None:
    whole = simulate(order_of("1f1b", 4, 8), [1.0] * 4).bubble
    halves = simulate(order_of("interleaved", 4, 8, 2), [0.5] * 8).bubble
    assert halves == pytest.approx(whole * 0.58, rel=0.01)


def test_transfers_and_times_of_each_stage() -> None:
    found = simulate(order_of("gpipe", 2, 1), [1.0, 4.0], [3.0, 2.0], transfer=0.5)
    assert [(span.work, span.start, span.end) for span in found.spans] == [
        (StageWork(0, False, 0), 0.0, 1.0),
        (StageWork(1, False, 0), 1.5, 5.5),
        (StageWork(1, True, 0), 5.5, 7.5),
        (StageWork(0, True, 0), 8.0, 11.0),
    ]
    assert found.held == (1, 1)


def test_the_picture() -> None:
    found = simulate(order_of("1f1b", 2, 2), [1.0, 1.0], [1.0, 1.0])
    assert found.text(6).split("\n") == ["01.a.b", ".0a1b."]


@pytest.mark.parametrize("times", [[1.0], [1.0, -1.0], [1.0, float("inf")]])
def test_times_that_are_none(times: list[float]) -> None:
    with pytest.raises(Error) as caught:
        simulate(order_of("gpipe", 2, 2), times)
    assert caught.value.code == "E0101"

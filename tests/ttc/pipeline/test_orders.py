"""Schedules hold every work once, in an order that can run, and keep as many microbatches as they should."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttc.dialects.core.errors import Error
from ttc.pipeline.orders import SCHEDULES, StageWork, forward_only, in_one_thread, most_held, order_of, stages_of


@st.composite
def _shapes(draw: st.DrawFn) -> tuple[str, int, int, int]:
    schedule = draw(st.sampled_from(sorted(SCHEDULES)))
    devices = draw(st.integers(1, 5))
    chunks = 1 if schedule == "1f1b" else draw(st.integers(1, 3))
    microbatches = draw(st.integers(1, 9))
    return schedule, devices, microbatches * devices if schedule == "interleaved" else microbatches, chunks


@given(_shapes())
def test_every_work_is_done_once_after_what_it_needs(shape: tuple[str, int, int, int]) -> None:
    schedule, devices, microbatches, chunks = shape
    order = order_of(schedule, devices, microbatches, chunks)
    stages = devices * chunks
    assert stages_of(order) == stages
    assert {work.stage % devices for works in order for work in works} == set(range(devices))
    done: list[StageWork] = []
    for work in in_one_thread(order):
        assert set(work.needs(stages)) <= set(done)
        done.append(work)
    assert set(done) == {StageWork(s, b, m) for s in range(stages) for b in (False, True) for m in range(microbatches)}
    assert len(done) == 2 * stages * microbatches


@given(_shapes())
def test_stages_take_microbatches_in_ascending_order(shape: tuple[str, int, int, int]) -> None:
    schedule, devices, microbatches, chunks = shape
    for device, works in enumerate(order_of(schedule, devices, microbatches, chunks)):
        for stage in range(device, devices * chunks, devices):
            for backward in (False, True):
                found = [work.microbatch for work in works if (work.stage, work.backward) == (stage, backward)]
                assert found == list(range(microbatches))


@pytest.mark.parametrize(
    ("schedule", "chunks", "held"),
    [("sequential", 1, (1, 1, 1)), ("gpipe", 1, (6, 6, 6)), ("1f1b", 1, (3, 2, 1)), ("interleaved", 2, (6, 5, 4, 3, 2, 1))],
)
def test_microbatches_that_a_stage_holds(schedule: str, chunks: int, held: tuple[int, ...]) -> None:
    found = most_held(order_of(schedule, 3, 6, chunks))
    assert len(found) == len(held)
    assert all(f >= h for f, h in zip(found, held, strict=True))
    if chunks == 1:
        assert found == held


def test_inference_goes_forward_alone() -> None:
    order = forward_only(2, 3)
    assert [str(work) for work in order[1]] == [f"forward of microbatch {number} in stage 1" for number in range(3)]


def test_an_order_that_waits_for_itself_is_an_error() -> None:
    order = ((StageWork(0, False, 0),), (StageWork(1, True, 0), StageWork(1, False, 0)))
    with pytest.raises(Error, match="backward of microbatch 0 in stage 1 waits for forward of microbatch 0 in stage 1") as caught:
        list(in_one_thread(order))
    assert caught.value.code == "E0804"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gpip", 2, 2), "did you mean 'gpipe'"),
        (("gpipe", 0, 2), "at least 1 of devices, not 0"),
        (("gpipe", 2, 0), "at least 1 of microbatches, not 0"),
        (("gpipe", 2, 2, 0), "at least 1 of stages of a device, not 0"),
        (("1f1b", 2, 2, 2), "one stage a device"),
        (("interleaved", 2, 3, 2), "take 2 or 4"),
    ],
)
def test_refusals(arguments: tuple[str, int, int], words: str) -> None:
    with pytest.raises(Error) as caught:
        order_of(*arguments)
    assert caught.value.code == "E0101"
    assert words in str(caught.value)

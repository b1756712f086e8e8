"""Updates: any number of microbatches, whole or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ttc.train.digits import BATCH, samples
from ttc.dialects.core.errors import Error
from ttc.runtime.machine.session import Session
from ttc.train.updates import Updates, training_of


@pytest.fixture
def updates(session: Session) -> Updates:
    return Updates(session, training_of(session))


def test_one_update_of_several_microbatches_is_one_of_all_rows(updates: Updates) -> None:
    rows = samples(3 * BATCH)
    rows["target"][5:9] = -100  # ignored: microbatches count unevenly
    numbers = {"lr": 0.05}
    found = updates.update(rows, numbers)
    after = updates.session.parameters()
    updates.session.reset()
    parts = [updates.accumulate({name: v[i : i + BATCH] for name, v in rows.items()}) for i in range(0, 3 * BATCH, BATCH)]
    updates.apply(numbers)
    assert found.loss == pytest.approx(sum(p.total for p in parts) / sum(p.count for p in parts))
    assert found.count == 3 * BATCH - 4
    for name, value in updates.session.parameters().items():
        np.testing.assert_array_equal(value, after[name])


def test_fused_and_unfused_updates_agree(updates: Updates) -> None:
    rows, before = samples(BATCH), updates.session.parameters()
    fused = updates.update(rows, {})
    there = updates.session.parameters()
    updates.session.reset()
    found = updates.accumulate(rows)
    updates.apply({})
    assert found.loss == pytest.approx(fused.loss)
    for name, value in updates.session.parameters().items():
        np.testing.assert_allclose(value, there[name], rtol=1e-5, atol=1e-6)
        assert not np.array_equal(value, before[name])


def test_an_update_that_fails_changes_nothing(updates: Updates) -> None:
    rows = samples(3 * BATCH)
    updates.update(rows, {})
    before = {**updates.session.parameters(), **updates.session.states()}
    rows["target"][2 * BATCH] = 7
    with pytest.raises(Error) as caught:
        updates.update(rows, {})
    assert caught.value.code == "E0802"
    for name, value in {**updates.session.parameters(), **updates.session.states()}.items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_evaluation_changes_nothing(updates: Updates) -> None:
    before, rows = updates.session.parameters(), samples(2 * BATCH)
    first, second = updates.evaluate(rows), updates.evaluate(rows)
    assert first.loss == second.loss > 0
    assert [found["scores"].shape for found in first.outputs] == [(BATCH, 3)] * 2
    for name, value in updates.session.parameters().items():
        np.testing.assert_array_equal(value, before[name])


def test_rows_that_are_no_microbatches(updates: Updates) -> None:
    updates.check_rows(3 * BATCH)
    with pytest.raises(Error, match="10 rows is no multiple of the 4 rows") as caught:
        updates.check_rows(10)
    assert "8 and 12" in str(caught.value.hint)

"""nn.couple_probabilities: what the search ends at, and shapes that do not suit."""

from __future__ import annotations

import numpy as np

from tests.ops.cases import check_batch, check_error, check_op, run_op, spec
from ttc.dialects.nn.coupling import CoupleProbabilitiesOp


def pairs_of(p: np.ndarray) -> np.ndarray:
    """The probabilities of pairs that those of classes, p[n, classes], give."""
    first, second = np.triu_indices(p.shape[1], 1)
    return (p[:, first] / (p[:, first] + p[:, second])).astype(np.float32)


def test_pairs_that_agree_give_the_classes() -> None:
    p = np.random.default_rng(1).dirichlet(np.full(4, 3.0), 20)
    (found,) = run_op(CoupleProbabilitiesOp, [pairs_of(p)], {"classes": 4})
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found, p, atol=0.02)  # the search ends before


def test_two_classes() -> None:
    check_op(
        CoupleProbabilitiesOp,
        [np.array([[0.9], [0.25]], np.float32)],
        {"classes": 2},
        np.array([[0.9, 0.1], [0.25, 0.75]], np.float32),
        1e-4,
    )


def test_rows_rest_once_they_fit() -> None:
    r = np.array([[0.5], [0.501], [0.95]], np.float32)
    (found,) = run_op(CoupleProbabilitiesOp, [r], {"classes": 2})
    assert found[:2].tolist() == [[0.5, 0.5]] * 2
    check_batch(CoupleProbabilitiesOp, [r], [True], {"classes": 2}, 3)


def test_shapes_that_do_not_suit() -> None:
    check_error("E0401", CoupleProbabilitiesOp, [spec(2, 4)], {"classes": 3})
    check_error("E0401", CoupleProbabilitiesOp, [spec(3)], {"classes": 3})
    check_error("E0402", CoupleProbabilitiesOp, [spec(2, 0)], {"classes": 1})
    check_error("E0403", CoupleProbabilitiesOp, [spec(2, 3, dtype="int32")], {"classes": 3})

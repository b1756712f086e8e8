"""Numpy semantics of probabilities of classes from those of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.coupling import ROUNDS, TOLERANCE
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("couple_probabilities")
def couple_probabilities(r: NDArray, *, classes: int) -> NDArray:
    """Compute the probabilities of all rows together; a row rests once its errors are small."""
    q = _quadratic_form(r, classes)
    p = np.full((len(r), classes), 1 / classes, r.dtype)
    active = np.arange(len(r))
    for _ in range(ROUNDS):
        products = np.einsum("nij,nj->ni", q[active], p[active])
        total = (p[active] * products).sum(axis=1)
        goes_on = np.abs(products - total[:, None]).max(axis=1, initial=0) >= r.dtype.type(TOLERANCE / classes)
        active, products, total = active[goes_on], products[goes_on], total[goes_on]
        if not len(active):
            break
        p[active] = _round(q[active], p[active], products, total)
    return p


def _round(q: NDArray, p: NDArray, products: NDArray, total: NDArray) -> NDArray:
    """Return each probability set to the best one beside the others in turn.  products: q p; total: p q p."""
    for i in range(p.shape[1]):
        own = q[:, i, i]
        step = (total - products[:, i]) / own
        p[:, i] += step
        total = (total + step * (step * own + 2 * products[:, i])) / (1 + step) / (1 + step)
        products = (products + step[:, None] * q[:, i]) / (1 + step)[:, None]
        p = p / (1 + step)[:, None]
    return p


def _quadratic_form(r: NDArray, classes: int) -> NDArray:
    """q[n, i, j]: the sum of r_ji^2 over j where i is j, else -r_ji r_ij."""
    first, second = np.triu_indices(classes, 1)
    given = np.zeros((len(r), classes, classes), r.dtype)
    given[:, first, second], given[:, second, first] = r, 1 - r
    other = given.transpose(0, 2, 1)
    q = -given * other
    q[:, np.arange(classes), np.arange(classes)] = (other * other).sum(axis=2)
    return q

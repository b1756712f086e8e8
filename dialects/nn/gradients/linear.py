"""Gradients of matrix products and determinants."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, elements, gradient, product, unbroadcast
from ttc.dialects.nn.gradients.elementwise import before_activation
from ttc.dialects.nn.gradients.factorization import inverse
from ttc.dialects.nn.making import OpMaker


@gradient("nn.matmul")
def matmul(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents: da = dy b^T and db = a^T dy, transposed where the op transposes them; of the bias the sum over what it was
    repeated along.
    """
    a, w, bias = site.operand(0), site.operand(1), site.operands[2]
    turned_a, turned_b = site.attrs["transpose_a"], site.attrs["transpose_b"]
    dy = before_activation(b, site)
    of_a = of_b = None
    if site.wanted[0] and turned_a:
        of_a = unbroadcast(b, product(b, w, dy, transpose_a=turned_b, transpose_b=True), a)
    elif site.wanted[0]:
        of_a = unbroadcast(b, product(b, dy, w, transpose_b=not turned_b), a)
    if site.wanted[1]:
        left, rows = (a, dy) if turned_a or b.rank(w) > 2 else (_as_rows(b, a), _as_rows(b, dy))
        if turned_b:
            of_b = product(b, rows, left, transpose_a=True, transpose_b=turned_a)
        else:
            of_b = product(b, left, rows, transpose_a=not turned_a)
        of_b = unbroadcast(b, of_b, w)
    return [of_a, of_b, unbroadcast(b, dy, bias) if site.wanted[2] and bias is not None else None]


def _as_rows(b: OpMaker, x: SSAValue) -> SSAValue:
    """Return all rows of all matrices in one: one product then sums over them."""
    shape = b.shape(x)
    return b.reshape(x, elements(shape[:-1]), shape[-1])


@gradient("nn.grouped_matmul")
def grouped_matmul(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents: dx is the grouped product with the transposed matrices; dw of each group is x^T dy over the rows of the group."""
    x, w, groups = (site.operand(i) for i in range(3))
    of_x = of_w = None
    if site.wanted[0]:
        of_x = b.nn("grouped_matmul", site.dy, w, groups, transpose_w=not site.attrs["transpose_w"])
    if site.wanted[1]:
        count, rows = b.shape(w)[0], b.shape(x)[0]
        numbers = b.constant(np.arange(count).reshape(count, 1), b.dtype(groups))
        member = b.nn("equal", numbers, b.reshape(groups, 1, rows))
        chosen = b.nn("mul", b.cast(b.reshape(member, count, rows, 1), b.dtype(x)), x)
        left, right = (site.dy, chosen) if site.attrs["transpose_w"] else (chosen, site.dy)
        of_w = product(b, left, right, transpose_a=True)
    return [of_x, of_w, None]


@gradient("nn.det")
def det(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: dy y x^-T; a matrix without an inverse is E0802 when it runs."""
    x = site.operand(0)
    scale = b.nn("mul", site.dy, site.y)
    return [b.nn("mul", inverse(b, x, transpose=True), b.reshape(scale, *b.shape(scale), 1, 1))]

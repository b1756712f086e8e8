"""Gradients of solutions of linear equations, and of factors of matrices."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, cotangent, gradient, product, transposed
from ttc.dialects.nn.making import OpMaker


def triangle(b: OpMaker, x: SSAValue, diagonal: int = 0, *, upper: bool = False) -> SSAValue:
    """Return x with 0 above a diagonal, or below it if the upper triangle is meant."""
    m, n = b.shape(x)[-2:]
    ones = np.ones((m, n), bool)
    return b.nn("where", b.constant(np.triu(ones, diagonal) if upper else np.tril(ones, diagonal)), x, b.scalar(0, x))


def identity_matrix(b: OpMaker, like: SSAValue, size: int) -> SSAValue:
    """Return identity matrices, as many as a tensor of matrices has in its leading dimensions."""
    return b.nn("expand", b.constant(np.eye(size), b.dtype(like)), shape=(*b.shape(like)[:-2], size, size))


def inverse(b: OpMaker, x: SSAValue, *, transpose: bool = False) -> SSAValue:
    """Return the inverses of matrices, or their transposes."""
    return b.nn("solve", transposed(b, x) if transpose else x, identity_matrix(b, x, b.shape(x)[-1]))


def onto_lower(b: OpMaker, s: SSAValue) -> SSAValue:
    """Return the cotangent of a lower triangle that stands for a symmetric matrix whose cotangent is s."""
    both = b.nn("add", s, transposed(b, s))
    halves = b.constant(np.tril(np.ones(b.shape(s)[-2:]), -1) + np.eye(b.shape(s)[-1]) / 2, b.dtype(s))
    return b.nn("mul", both, halves)


def _differences(b: OpMaker, values: SSAValue, *, settled: bool = False) -> SSAValue:
    """1 / (v_j - v_i) for i != j, 0 on the diagonal; settled: also for equal ones."""
    shape = b.shape(values)
    gaps = b.nn("sub", b.reshape(values, *shape[:-1], 1, shape[-1]), b.reshape(values, *shape, 1))
    diagonal = b.constant(np.eye(shape[-1], dtype=bool))
    one, zero = b.scalar(1, values), b.scalar(0, values)
    over = b.nn("where", diagonal, zero, b.nn("div", one, b.nn("where", diagonal, one, gaps)))
    return _settled(b, over, gaps, values) if settled else over


def _settled(b: OpMaker, x: SSAValue, sizes: SSAValue, values: SSAValue) -> SSAValue:
    """x, but 0 where `sizes` is within rounding of 0, measured by the largest of `values`[..., n].

    Directions of a space of equal (or no) singular values are not determined: what does not depend on them, such as a pseudo-inverse,
    has cotangents of 0 there, which rounding and a division would make arbitrary.
    """
    top = b.nn("reduce_max", values, axes=(-1,), keepdims=True)
    shape = b.shape(top)
    edge = b.nn("mul", b.reshape(top, *shape, 1), b.scalar(32 * float(np.finfo(b.dtype(values)).eps), values))
    return b.nn("where", b.nn("greater", b.nn("abs", sizes), edge), x, b.scalar(0, x))


def _columns_scaled(b: OpMaker, x: SSAValue, values: SSAValue) -> SSAValue:
    shape = b.shape(values)
    return b.nn("mul", x, b.reshape(values, *shape[:-1], 1, shape[-1]))


def _rows_scaled(b: OpMaker, x: SSAValue, values: SSAValue) -> SSAValue:
    return b.nn("mul", x, b.reshape(values, *b.shape(values), 1))


def _diagonal(b: OpMaker, values: SSAValue) -> SSAValue:
    """Return diagonal matrices that have these values."""
    return _columns_scaled(b, b.constant(np.eye(b.shape(values)[-1]), b.dtype(values)), values)


@gradient("nn.solve")
def solve(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents for y with a y = x: dx = a^-T dy, da = -dx y^T."""
    of_x = b.nn("solve", transposed(b, site.operand(0)), site.dy)
    of_a = b.nn("neg", product(b, of_x, site.y, transpose_b=True)) if site.wanted[0] else None
    return [of_a, of_x if site.wanted[1] else None]


@gradient("nn.cholesky")
def cholesky(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: y^-T m y^-1, m the lower triangle of y^T dy with half its diagonal, brought onto the triangle that the op
    reads.
    """
    y = site.y
    inner = product(b, y, triangle(b, site.dy), transpose_a=True)
    size = b.shape(y)[-1]
    halves = b.constant(np.tril(np.ones((size, size)), -1) + np.eye(size) / 2, b.dtype(y))
    back = inverse(b, y)
    return [onto_lower(b, product(b, back, product(b, b.nn("mul", inner, halves), back), transpose_a=True))]


@gradient("nn.qr")
def qr(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x, given q with as many columns: (dq + q c) r^-T, c symmetric with the lower triangle of r dr^T - dq^T q."""
    q, r = site.results
    m, n = b.shape(site.operand(0))[-2:]
    if m < n or b.shape(q)[-1] != n:
        site.refuse(b, f"q of {b.spec(q)} and r of {b.spec(r)} do not determine each other's changes")
    dq, dr = cotangent(b, site, 0), triangle(b, cotangent(b, site, 1), upper=True)
    inner = b.nn("sub", product(b, r, dr, transpose_b=True), product(b, dq, q, transpose_a=True))
    lower = triangle(b, inner, -1)
    both = b.nn("add", triangle(b, inner), transposed(b, lower))
    turned = b.nn("add", dq, product(b, q, both))
    return [transposed(b, b.nn("solve", r, transposed(b, turned)))]


@gradient("nn.lu")
def lu(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of square x = p l u that has an inverse: p l^-T (lower(l^T dl) + upper(du u^T)) u^-T."""
    x, y = site.operand(0), site.y
    size, n = b.shape(x)[-2:]
    if size != n:
        site.refuse(b, f"{b.spec(x)} does not hold square matrices")
    dy = cotangent(b, site, 0)
    l_ = b.nn("add", triangle(b, y, -1), b.constant(np.eye(n), b.dtype(y)))
    u = triangle(b, y, upper=True)
    order = b.nn("round", b.nn("solve", transposed(b, product(b, l_, u)), transposed(b, x)))  # the transpose of p
    dl, du = triangle(b, dy, -1), triangle(b, dy, upper=True)
    inner = b.nn(
        "add",
        triangle(b, product(b, l_, dl, transpose_a=True), -1),
        triangle(b, product(b, du, u, transpose_b=True), upper=True),
    )
    rows = b.nn("solve", transposed(b, l_), inner)
    both = transposed(b, b.nn("solve", u, transposed(b, rows)))
    return [product(b, order, both, transpose_a=True)]


@gradient("nn.eigh")
def eigh(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: v (diag(dy) + (v^T dv) / (y_j - y_i)) v^T, brought onto the triangle that the op reads; infinite for equal
    eigenvalues.
    """
    y, v = site.results
    inner = _diagonal(b, cotangent(b, site, 0))
    if site.cotangents[1] is not None:
        turned = product(b, v, site.cotangents[1], transpose_a=True)
        inner = b.nn("add", inner, b.nn("mul", turned, _differences(b, y)))
    return [onto_lower(b, product(b, product(b, v, inner), v, transpose_b=True))]


@gradient("nn.svd")
def svd(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: u (J s + s K + diag(ds)) v, J and K from u^T du and v dv^T over s_j^2 - s_i^2, and what leaves the spaces
    of u and v.
    """
    u, s, v = site.results
    m, n = b.shape(site.operand(0))[-2:]
    if site.attrs["full"] and m != n and (site.cotangents[0] is not None or site.cotangents[2] is not None):
        site.refuse(b, "columns of u or rows of v beyond the singular values are not determined")
    if site.attrs["full"] and m != n:
        u, v = _first(b, u, -1, min(m, n)), _first(b, v, -2, min(m, n))
    inner = _diagonal(b, cotangent(b, site, 1))
    du, dv = site.cotangents[0], site.cotangents[2]
    outer = None
    squares = b.nn("mul", s, s)
    over = _differences(b, squares, settled=True) if du is not None or dv is not None else None
    if du is not None and over is not None:
        turned = product(b, u, du, transpose_a=True)
        skew = b.nn("mul", over, b.nn("sub", turned, transposed(b, turned)))
        inner = b.nn("add", inner, _columns_scaled(b, skew, s))
        if m > min(m, n):
            rest = b.nn("sub", du, product(b, u, turned))
            outer = product(b, _settled(b, b.nn("div", rest, _row(b, s)), _row(b, s), s), v)
    if dv is not None and over is not None:
        turned = product(b, v, dv, transpose_b=True)
        skew = b.nn("mul", over, b.nn("sub", turned, transposed(b, turned)))
        inner = b.nn("add", inner, _rows_scaled(b, skew, s))
        if n > min(m, n):
            rest, column = b.nn("sub", dv, product(b, transposed(b, turned), v)), transposed(b, _row(b, s))
            outer = product(b, u, _settled(b, b.nn("div", rest, column), column, s))
    found = product(b, product(b, u, inner), v)
    return [found if outer is None else b.nn("add", found, outer)]


def _row(b: OpMaker, values: SSAValue) -> SSAValue:
    shape = b.shape(values)
    return b.reshape(values, *shape[:-1], 1, shape[-1])


def _first(b: OpMaker, x: SSAValue, axis: int, count: int) -> SSAValue:
    shape = list(b.shape(x))
    shape[axis] = count
    return b.nn("slice", x, starts=(0,) * len(shape), sizes=tuple(shape), steps=(1,) * len(shape))

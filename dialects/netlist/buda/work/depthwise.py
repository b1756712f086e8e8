"""Products of columns of tiles with one tile each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.buda.work.building import Building
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.read_tms import broadcast_to
from ttc.dialects.netlist.buda.work.reading import Operand, Parts, Reading, clipped
from ttc.dialects.netlist.buda.work.shared import FRAME, integer


def build(to: Building) -> int:
    """Build a depthwise product: blocks of in0's columns times rows of in1's tiles, summed; of a bias, the first row is added to all
    rows.
    """
    biased = bool(to.op.attributes.get("bias"))
    to.require_inputs(2 + biased)
    a, b = to.input(0), to.input(1)
    count = integer(to.op.attributes, "m_k", 1)
    t, rows, columns = to.shape(a)
    if count < 1 or columns % (count * FRAME[1]) or to.shape(b) != (t, count * FRAME[0], columns // count):
        raise Error("E0401", f"{count} blocks of {list(to.shape(a))} do not meet {list(to.shape(b))}")
    shape = (t, rows, columns // count)
    value = to.emit("tile_depthwise", (a, b), shape, count=count)
    if not biased:
        return value
    bias = to.input(2)
    row = (t, 1, shape[2])
    if to.shape(bias)[0] != t or to.shape(bias)[2] != shape[2]:
        raise Error("E0401", f"its bias is {list(to.shape(bias))}, the product {list(shape)}")
    bias = to.emit("slice", (bias,), row, starts=(0, 0, 0), sizes=row, steps=(1, 1, 1))
    bias = to.emit("broadcast", (bias,), shape, shape=shape)
    return to.emit("binary", (value, bias), shape, fn="add")


def read(work: Reading) -> Parts:
    """Read a depthwise product that has no bias."""
    return Parts("depthwise", work.operands(), {"m_k": work.main.attrs["count"]})


def with_bias(work: Reading, product: Parts) -> Parts:
    """Return a product to which the first row of something is added."""
    row = work.at(work.main.operands[1])
    if row.main.op != "tile.broadcast" or row.maker(row.main.operands[0]) != "tile.slice":
        raise Error("E0503", "Buda adds a row to a depthwise product")
    (bias,) = row.at(row.main.operands[0]).main.operands
    if bias is None:
        raise Error("E0609", "a bias is absent")
    return Parts(product.type, (*product.operands, Operand(bias)), {**product.attributes, "bias": True})


def read_diagonals(work: Reading) -> Parts:
    """Return one weight a channel: taps side by side, weights as diagonals of tiles."""
    a, b, bias = (*work.main.operands, None)[:3]
    if a is None or b is None:
        raise Error("E0609", "a depthwise product lacks an operand")
    count = work.type_of(a).shape[0]
    said: dict[str, Plain] = {"m_k": count, **clipped(work.main.attrs.get("activation"), work.main.attrs.get("activation_args"))}
    operands = (Operand(a, tail=(Tm("hstack", (count,)),) if count > 1 else ()), Operand(b, diagonal=True))
    if bias is None:
        return Parts("depthwise", operands, said)
    tail = tuple(tm for tm in broadcast_to(work.type_of(bias), work.result) if tm != Tm("tile_broadcast", ("r",)))
    if any(tm.kind == "tile_broadcast" for tm in tail):
        raise Error("E0503", "Buda has no bias that is one number a row")
    return Parts("depthwise", (*operands, Operand(bias, tail=tail)), {**said, "bias": True})


def diagonal_tiles(weights: NDArray) -> NDArray:
    """Return weights [z, c] as the diagonals of tiles [z * 32, c in whole tiles]: what `depthwise` reads of them."""
    z, c = weights.shape
    across = -(-c // FRAME[1])
    whole = np.zeros((z, across * FRAME[1]), weights.dtype)
    whole[:, :c] = weights
    tiles = np.zeros((z, FRAME[0], across, FRAME[1]), weights.dtype)
    at = np.arange(FRAME[0])
    tiles[:, at, :, at] = whole.reshape(z, across, FRAME[1]).transpose(2, 0, 1)
    return tiles.reshape(z * FRAME[0], across * FRAME[1])


BUILDS.add("depthwise", build)
READS.add_all({"tile.tile_depthwise": read, "tile.depthwise": read_diagonals})

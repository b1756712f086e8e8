"""Sparse matrix products: a stream of codes says which distinct tiles stand where."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.tiling.sparse_codes import WORD_BITS, Codes
from ttc.dialects.netlist.buda.work.building import Building
from ttc.dialects.netlist.buda.work.families import READS
from ttc.dialects.netlist.buda.work.reading import Operand, Parts, Reading
from ttc.dialects.netlist.buda.work.shared import FRAME, blocks, flag, integer


def build(to: Building) -> int:
    """Build a sparse product of tiles, activations, codes, and a bias that is added as it is."""
    attributes, op = to.op.attributes, to.op
    biased = flag(attributes, "bias")
    to.require_inputs(3 + biased)
    t, rows, columns = blocks(op)
    if op.grid_size is None or op.mblock is None or op.ublock is None:
        raise Error("E0602", "an op needs grid_size, mblock and ublock")
    fractures = integer(attributes, "fracture_factor", 1)
    if fractures < 1 or op.grid_size[1] % fractures:
        raise Error("E0402", f"{op.grid_size[1]} columns of cores do not fall into {fractures} fractures")
    tile_bits, ublock_bits = _bits(to, op.mblock[0], op.ublock[0])
    said: dict[str, Plain] = {
        "grid": op.grid_size,
        "fractures": fractures,
        "mblock_m": op.mblock[0],
        "u_rt": op.ublock[0],
        "u_kt": integer(attributes, "u_kt", 1),
        "tile_bits": tile_bits,
        "ublock_bits": ublock_bits,
    }
    shape = (t, rows * FRAME[0], columns * FRAME[1])
    tiles, x, codes = to.input(0), to.input(1), to.input(2)
    if to.shape(x)[2] != shape[2]:
        raise Error("E0401", f"its input of {to.shape(x)[2]} columns does not give {shape[2]}")
    value = to.emit("encoded_matmul", (tiles, x, codes), shape, shape=shape, **said)
    if not biased:
        return value
    bias = to.input(3, bias=True)
    if to.shape(bias) != shape:
        raise Error("E0401", f"its bias is {list(to.shape(bias))}, the product {list(shape)}")
    return to.emit("binary", (value, bias), shape, fn="add")


def _bits(to: Building, mblock_m: int, u_rt: int) -> tuple[int, int]:
    """Bits of tiles and of blocks in the codes; where an op says neither, as many as rows and columns leave, and as few as blocks need."""
    attributes = to.op.attributes
    tile_bits = integer(attributes, "sparse_tile_ptr_bits", 0)
    ublock_bits = integer(attributes, "sparse_ublock_idx_bits", 0)
    if tile_bits == 0 and ublock_bits <= 0:
        widest = Codes(mblock_m, u_rt, integer(attributes, "u_kt", 1), 0, 0)
        return max(WORD_BITS - widest.column_bits - (u_rt - 1).bit_length(), 0), (mblock_m - 1).bit_length()
    return tile_bits, ublock_bits if ublock_bits > 0 else tile_bits


def read(work: Reading) -> Parts:
    """Read a sparse product; a bias is read by what is added to it."""
    attrs = work.main.attrs
    bits = {"sparse_tile_ptr_bits": attrs["tile_bits"], "sparse_ublock_idx_bits": attrs["ublock_bits"]}
    said: dict[str, Plain] = {"identity": True, "fracture_factor": attrs["fractures"], **bits}
    return Parts("matmul", work.operands(), said)


def with_bias(work: Reading, product: Parts) -> Parts:
    """Return a product to which something is added that is no product."""
    bias = work.main.operands[1]
    if bias is None:
        raise Error("E0609", "a bias is absent")
    return Parts("matmul", (*product.operands, Operand(bias, bias=True)), {**product.attributes, "bias": True})


READS.add("tile.encoded_matmul", read)

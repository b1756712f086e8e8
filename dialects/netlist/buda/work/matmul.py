"""Matrix products: dense ones, with bias, sums over z, and steps to integers."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.form import Tm
from ttc.dialects.netlist.buda.work import identity
from ttc.dialects.netlist.buda.work.building import INTEGERS, Building
from ttc.dialects.netlist.buda.work.families import BUILDS, READS
from ttc.dialects.netlist.buda.work.read_tms import broadcast_to, tile_dims
from ttc.dialects.netlist.buda.work.reading import Operand, Parts, Reading, clipped
from ttc.dialects.netlist.buda.work.shared import blocks, flag, integer, number


def build(to: Building) -> int:
    """Build a matrix product: sum over z of in0 @ in1, + bias, rescaled, through gelu."""
    attributes = to.op.attributes
    if flag(attributes, "identity"):
        return identity.build(to)
    rescaled = flag(attributes, "requant") or flag(attributes, "dequant")
    biased = flag(attributes, "bias")
    to.require_inputs(2 + biased + rescaled)
    value = product(to, to.input(0), to.input(1), _bias(to, 2) if biased else None)
    if rescaled:
        scale = to.input(2 + biased, bias=biased and not _of_integers(to))
        kind = "requantization" if flag(attributes, "requant") else "dequantization"
        if to.shape(scale) != to.shape(value):
            raise Error("E0401", f"its scale is {list(to.shape(scale))}, the product {list(to.shape(value))}")
        zero = float(number(attributes, "zero_point", 0.0))
        value = to.emit("rescale", (value, scale), to.shape(value), kind=kind, zero_point=zero)
    return fused_sfpu(to, value)


def fused_sfpu(to: Building, value: int) -> int:
    """Return what the attribute sfpu_op does to a product.  Raises E0503 for anything but gelu."""
    name = to.op.attributes.get("sfpu_op", "invalid")
    if name == "invalid":
        return value
    if name != "gelu":
        raise Error("E0503", f"a matmul can apply gelu to its result, not '{name}'")
    return to.emit("sfpu", (value,), to.shape(value), fn="gelu")


def product(to: Building, a: int, b: int, bias: int | None = None) -> int:
    """a @ b + bias; with accumulate, groups of z products are summed."""
    t, rows, inner = to.shape(a)
    other, depth, columns = to.shape(b)
    if inner != depth:
        raise Error("E0401", f"its inputs are {list(to.shape(a))} and {list(to.shape(b))}: {inner} columns meet {depth} rows")
    if t != other:
        raise Error("E0401", f"its inputs have {t} and {other} matrices")
    attrs: dict[str, Plain] = {"transpose_a": False, "transpose_b": False}
    if flag(to.op.attributes, "accumulate"):
        whole = blocks(to.op)[0]
        z = integer(to.op.attributes, "z", max(t // whole, 1))
        if z < 1 or t % z:
            raise Error("E0401", f"{t} products cannot be summed by {z}")
        a = _grouped(to, a, z)
        b, t = _grouped(to, b, z), t // z
        attrs["accumulate"] = True
    if bias is not None and to.shape(bias) != (t, rows, columns):
        raise Error("E0401", f"its bias is {list(to.shape(bias))}, the product {[t, rows, columns]}")
    return to.emit("matmul", (a, b, bias), (t, rows, columns), **attrs)


def _grouped(to: Building, value: int, z: int) -> int:
    t, rows, columns = to.shape(value)
    shape = (t // z, z, rows, columns)
    return to.emit("reshape", (value,), shape, shape=shape)


def _bias(to: Building, index: int) -> int:
    """Return a bias: the first row of every tile stands for all of them, unless it is of integers."""
    integers = _of_integers(to)
    value = to.input(index, bias=not integers)
    return value if integers else to.emit("tile_broadcast", (value,), to.shape(value), dim="r", tile=to.tile)


def _of_integers(to: Building) -> bool:
    return any(type_.format in INTEGERS for type_ in to.inputs)


# ---- reading ---------------------------------------------------------------------------------------------------------------------


def read(work: Reading) -> Parts:
    """Read a matrix product of in0, in1 and bias.  Raises E0503 for a transposed in0, or an activation that is no relu."""
    attrs = work.main.attrs
    a, b, bias = (*work.main.operands, None)[:3]
    if a is None or b is None:
        raise Error("E0609", "a matmul lacks an operand")
    if attrs.get("transpose_a"):
        raise Error("E0503", "Buda has no matmul with a transposed left operand")
    said: dict[str, Plain] = clipped(attrs.get("activation"), attrs.get("activation_args"))
    count = 1
    if attrs.get("accumulate"):
        count = work.type_of(a).shape[-3]
        said |= {"accumulate": True, "z": count}
    t = tile_dims(work.result)[0] * count
    transposed = (Tm("transpose"),) if attrs.get("transpose_b") else ()
    left = Operand(a, tail=_matrices(work, a, t))
    right = Operand(b, tail=(*transposed, *_matrices(work, b, t)))
    if bias is None:
        return Parts("matmul", (left, right), said)
    return Parts("matmul", (left, right, Operand(bias, True, _rows(work, bias))), {**said, "bias": True})


def with_gelu(work: Reading) -> Parts:
    """Read a product with gelu applied to its result."""
    if work.main.attrs.get("fn") != "gelu":
        raise Error("E0503", f"a matmul of Buda can apply gelu to its result, not {work.main.attrs.get('fn')}")
    inner = work.at(work.main.operands[0])
    parts = read(inner) if inner.main.op == "tile.matmul" else with_scale(inner)
    return Parts(parts.type, parts.operands, {**parts.attributes, "sfpu_op": "gelu"})


def with_scale(work: Reading) -> Parts:
    """Return a product brought to integers, or from them."""
    product, scale = work.main.operands[:2]
    parts = read(work.at(product))
    if scale is None:
        raise Error("E0609", "a scale is absent")
    name = "requant" if work.main.attrs["kind"] == "requantization" else "dequant"
    said: dict[str, Plain] = {**parts.attributes, name: True, "zero_point": work.main.attrs["zero_point"]}
    return Parts(parts.type, (*parts.operands, Operand(scale, bool(parts.attributes.get("bias")))), said)


def _matrices(work: Reading, value: int, t: int) -> tuple[Tm, ...]:
    """TM that repeats an operand with fewer matrices than the product has."""
    type_ = work.type_of(value)
    own, lead = tile_dims(type_)[0], type_.shape[:-2]
    if own == t:
        return ()
    whole = tuple(work.result.shape[:-2]) + ((t // tile_dims(work.result)[0],) if work.main.attrs.get("accumulate") else ())
    if own < 1 or t % own or (own != 1 and lead != whole[len(whole) - len(lead) :]):  # all of them one after another, again and again
        raise Error("E0503", f"Buda cannot repeat {own} matrices to {t}")
    return (Tm("broadcast", ("z", t // own)),)


def _rows(work: Reading, value: int) -> tuple[Tm, ...]:
    """TMs that bring a bias to the shape of the product; its first row counts anyway."""
    found = broadcast_to(work.type_of(value), work.result)
    if any(tm.kind == "tile_broadcast" and tm.args != ("r",) for tm in found):
        raise Error("E0503", "Buda has no bias that is one number a row")
    return tuple(tm for tm in found if tm.kind != "tile_broadcast")


BUILDS.add("matmul", build)
READS.add("tile.matmul", read)

"""Rules of shapes: what tile manipulations make of an input, and what each op needs.  All dimensions are in tiles: (t, rows, columns)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ttc.dialects.netlist.buda.form import BudaOp, BudaQueue, Tm
from ttc.dialects.netlist.buda.reader_fields import BINARY, UNARY
from ttc.dialects.netlist.buda.rules.context import Context, dims_text, tiles
from ttc.dialects.tile.facts.sfpu import SFPU_FUNCTIONS

MAX_TILES = 1 << 40
"""Tiles in one dimension of anything: no netlist comes near, and longer numbers only cost time."""
TILE_COLUMNS = 32
Dims: TypeAlias = tuple[int, int, int]
ELEMENTWISE = frozenset((*UNARY, *SFPU_FUNCTIONS, *BINARY))


def check_dims(context: Context) -> None:
    """Every op gets the shapes that its own dimensions ask for, and every queue holds what its op makes."""
    for _, op in context.all_ops():
        inputs = input_dims(op, context)
        output = tiles(op)
        if inputs is None or output is None:
            continue
        for message in problems(op, inputs, output):
            context.op(op, "inputs", "E0622", message)
            context.misfits.add(op.name)
        if op.type == "splice" and op.name not in context.misfits:
            for message in _passes(op, inputs, output):
                context.op(op, "attributes", "E0631", message)
    for queue in context.netlist.queues.values():
        _check_queue(queue, context)


def _check_queue(queue: BudaQueue, context: Context) -> None:
    producer = context.ops.get(queue.input)
    made, own = tiles(producer) if producer is not None else None, tiles(queue)
    if made is None or own is None or queue.name in context.misfits or queue.input in context.misfits:
        return
    try:
        made = after_tms(made, queue.input_tms)
    except ValueError as error:
        context.queue(queue, "input_tms", "E0623", str(error))
        return
    if made != own:
        message = f"its entries are {dims_text(own)} tiles, but op '{queue.input}' makes {dims_text(made)}"
        context.queue(queue, "mblock", "E0621", message)


# ---- inputs of an op ---------------------------------------------------------------------------------------------------------------


def input_dims(op: BudaOp, context: Context) -> list[Dims] | None:
    """Dimensions of each input after unpadding, manipulations and padding; None if one cannot be told, which is reported unless it is
    because of a fault elsewhere."""
    found: list[Dims] = []
    if not op.inputs or f"op '{op.name}'" in context.faulty or op.name in context.misfits:
        return None
    for index, name in enumerate(op.inputs):
        source = context.source(name)
        dims = tiles(source) if source is not None else None
        if dims is None or name in context.misfits:
            return None
        try:
            found.append(input_after(op, index, dims))
        except ValueError as error:
            context.op(op, f"input_{index}_tms", "E0623", f"input {index}, '{name}': {error}")
            context.misfits.add(op.name)
            return None
    return found


def input_after(op: BudaOp, index: int, dims: Dims) -> Dims:
    """Dimensions of an input of an op, from those of its source.  Raises ValueError where a manipulation does not fit."""
    rt, ct = op.unpads.get(index, (0, 0))
    if rt >= dims[1] or ct >= dims[2]:
        raise ValueError(f"unpad takes {rt}x{ct} of {dims_text(dims)} tiles: nothing is left")
    dims = after_tms((dims[0], dims[1] - rt, dims[2] - ct), op.input_tms.get(index, ()))
    pad = op.pads.get(index)
    return dims if pad is None else (dims[0], dims[1] + pad[0], dims[2] + pad[1])


def after_tms(dims: Dims, tms: Iterable[Tm]) -> Dims:
    """Dimensions after tile manipulations, in their order.  Raises ValueError where one does not divide what it gets."""
    t, rows, columns = dims
    for tm in tms:
        match tm.kind, tm.args:
            case "broadcast", ("z", int(n)):
                t *= n
            case "broadcast", ("r", int(n)):
                rows *= n
            case "broadcast", ("c", int(n)):
                columns *= n
            case "hslice", (int(n),):
                t, columns = t * n, _part(columns, n, "hslice", "columns")
            case "vslice", (int(n),):
                t, rows = t * n, _part(rows, n, "vslice", "rows")
            case "hstack", (int(n),):
                t, columns = _part(t, n or t, "hstack", "t"), columns * (n or t)
            case "vstack", (int(n),):
                t, rows = _part(t, n or t, "vstack", "t"), rows * (n or t)
            case "transpose", ():
                rows, columns = columns, rows
            case "pad", (int(rt), int(ct), _):
                rows, columns = rows + rt, columns + ct
            case "tile_broadcast", _:
                pass
            case _:
                raise ValueError(f"there is no tile manipulation '{tm.kind}' of {tm.args}")
        if max(t, rows, columns) > MAX_TILES:
            raise ValueError(f"{tm.kind} makes more than {MAX_TILES} tiles in one dimension")
    return t, rows, columns


def _part(size: int, n: int, name: str, what: str) -> int:
    if size % n:
        raise ValueError(f"{name} {n} does not divide {what} {size}")
    return size // n


# ---- what each op needs ------------------------------------------------------------------------------------------------------------


def problems(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    """Return what does not fit between the inputs of an op and its output."""
    if op.type in ELEMENTWISE:
        return [_differs(i, dims, output) for i, dims in enumerate(inputs) if dims != output][:1]
    if op.type == "matmul":
        return _sparse(op, inputs, output) if op.attributes.get("identity") is True else _matmul(op, inputs, output)
    check = {"reduce": _reduce, "depthwise": _depthwise, "tilizer": _tilizer, "embedding": _embedding, "splice": _splice, "topk": _topk}
    found = check.get(op.type or "")
    return found(op, inputs, output) if found is not None else []


def _differs(index: int, dims: Dims, wanted: Dims, what: str = "the op makes") -> str:
    return f"input {index} is {dims_text(dims)} tiles after its tile manipulations, but {what} {dims_text(wanted)}"


def inner_tiles(op: BudaOp) -> int | None:
    """Return tiles of the inner dimension of a matmul: m_k blocks of u_kt; None unless both are given."""
    m_k, u_kt = op.attributes.get("m_k"), op.attributes.get("u_kt")
    return m_k * u_kt if isinstance(m_k, int) and isinstance(u_kt, int) else None


def _matmul(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    inner = inner_tiles(op)
    if len(inputs) < 2 or inner is None:
        return []
    z = op.attributes.get("z") if op.attributes.get("accumulate") is True else 1
    t = output[0] * (z if isinstance(z, int) else 1)
    m_k, u_kt = op.attributes["m_k"], op.attributes["u_kt"]
    found = []
    for index, wanted in ((0, (t, output[1], inner)), (1, (t, inner, output[2]))):
        if inputs[index] != wanted:
            found.append(_differs(index, inputs[index], wanted, f"m_k {m_k}, u_kt {u_kt} and the output {dims_text(output)} need"))
            break
    return found or [_differs(i + 2, dims, output) for i, dims in enumerate(inputs[2:]) if dims != output][:1]


def _sparse(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    """Return a sparse matmul: tiles and encodings lie by rows of cores, and the activations have the columns of the output."""
    if len(inputs) < 3 or op.grid_size is None:
        return []
    if inputs[1][2] != output[2]:
        return [f"input 1 has {inputs[1][2]} columns of tiles, but the op makes {output[2]}"]
    for index, key in ((0, "num_sparse_tiles"), (2, "num_index_tiles")):
        (t, rows, columns), each = inputs[index], op.attributes.get(key)
        if not isinstance(each, int) or each < 1:
            continue
        cores, rest = divmod(t * rows * columns, each)
        fits = op.attributes.get("fracture_factor", 1) != 1 or cores in (op.grid_size[0], op.grid_size[0] * op.grid_size[1])
        if rest or not fits:
            return [f"input {index} is {dims_text(inputs[index])} tiles, but {op.grid_size[0]} rows of cores take {key} {each} each"]
    inner, act_t = inner_tiles(op), op.attributes.get("act_t")
    if "num_columns" not in op.attributes and inner is not None and inputs[1][1] != inner:
        return [f"input 1 has {inputs[1][1]} rows of tiles, but m_k and u_kt make {inner}"]
    if isinstance(act_t, int) and act_t and inputs[1][0] != act_t:
        return [f"input 1 has t {inputs[1][0]}, but act_t is {act_t}"]
    return [_differs(i + 3, dims, output) for i, dims in enumerate(inputs[3:]) if dims != output][:1]


def _reduce(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    dim, given, inner = op.attributes.get("dim"), inputs[0], inner_tiles(op)
    if dim == "z":
        z = op.attributes.get("z")
        wanted = (output[0] * z if isinstance(z, int) else given[0], output[1], output[2])
    elif dim == "r":
        wanted = (output[0], inner or given[1], output[2])
    elif dim == "c":
        wanted = (output[0], output[1], inner or given[2])
    else:
        return []
    axis = {"z": 0, "r": 1, "c": 2}[str(dim)]
    if axis and output[axis] != 1:
        return [f"a reduction along {dim} makes 1 tile in that dimension, not {output[axis]}"]
    return [] if given == wanted else [_differs(0, given, wanted, f"a reduction along {dim} to {dims_text(output)} needs")]


def _depthwise(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    inner = inner_tiles(op)
    if len(inputs) < 2 or inner is None:
        return []
    t, rows, columns = output
    wanted = ((t, rows, columns * inner), (t, inner, columns), output)
    return [_differs(i, dims, wanted[i], "the op needs") for i, dims in enumerate(inputs[:3]) if dims != wanted[i]][:1]


def _tilizer(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    return [] if inputs[0] == output else [_differs(0, inputs[0], output)]


def _embedding(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    table = inputs[0]
    if table[2] != output[2]:
        return [f"the table has {table[2]} columns of tiles, but the op makes {output[2]}"]
    return []


def _topk(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    found = []
    if len(inputs) == 2 and inputs[0] != inputs[1]:
        found.append(f"values are {dims_text(inputs[0])} tiles and indices {dims_text(inputs[1])}: they have one shape")
    elif inputs[0][:2] != output[:2]:
        found.append(f"input 0 is {dims_text(inputs[0])} tiles, but the op makes {dims_text(output)}: t and rows are the same")
    elif inner_tiles(op) not in (None, inputs[0][2]):
        found.append(f"inputs have {inputs[0][2]} columns of tiles, but m_k and u_kt make {inner_tiles(op)}")
    k, cores = op.attributes.get("k"), op.grid_size[1] if op.grid_size is not None else 0
    if not found and isinstance(k, int) and cores and output[2] != cores * -(-k // TILE_COLUMNS):
        found.append(f"k {k} makes {-(-k // TILE_COLUMNS)} columns of tiles in each of {cores} columns of cores, not {output[2]} in all")
    return found


def _splice(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    along_t = op.attributes.get("granularity") == "t"
    what = "its t can differ alone from that of the output," if along_t else "t is as in the output,"
    differ = (dims[1:] != output[1:] if along_t else dims[0] != output[0] for dims in inputs)
    return [_differs(i, dims, output, what) for (i, dims), differs in zip(enumerate(inputs), differ, strict=True) if differs][:1]


def _passes(op: BudaOp, inputs: Sequence[Dims], output: Dims) -> list[str]:
    """Each pass skips `index` units of an input, takes `length` and goes on by `stride`; all end in the same pass, with the output."""
    if op.grid_size is None or op.ublock is None:
        return []
    along_t = op.attributes.get("granularity") == "t"
    share = op.grid_size[0] * op.grid_size[1] * op.ublock[0] * op.ublock[1]  # tiles that all cores take of one unit
    unit = "entries of t" if along_t else "ublocks a core"
    taken, passes = 0, None
    for index, dims in enumerate(inputs):
        info = op.attributes.get(f"input{index}")
        if not isinstance(info, tuple) or len(info) != 3 or not all(isinstance(x, int) for x in info):
            return []
        skip, length, stride = (x for x in info if isinstance(x, int))
        if skip < 0 or length < 1 or stride < 1:
            return []
        units, rest = (dims[0], 0) if along_t else divmod(dims[1] * dims[2], share)
        if rest or skip + stride < 1 or units % (skip + stride) or length > stride:
            return [f"input {index} has {units} {unit}, which [{skip}, {length}, {stride}] do not divide"]
        if passes not in (None, units // (skip + stride)):
            return [f"input {index} ends after {units // (skip + stride)} passes, those before it after {passes}"]
        passes, taken = units // (skip + stride), taken + length
    made = output[0] if along_t else output[1] * output[2] // share
    return (
        [] if passes is None or passes * taken == made else [f"{passes} passes of {taken} make {passes * taken}, but the output has {made}"]
    )

"""Rules of tiles smaller than 32x32."""

from __future__ import annotations

from ttc.dialects.netlist.buda.form import BudaOp, BudaQueue, Pair
from ttc.dialects.netlist.buda.reader_fields import BINARY, UNARY
from ttc.dialects.netlist.buda.rules.context import DEFAULT_TILE, Context, tile_of
from ttc.dialects.tile.facts.sfpu import SFPU_FUNCTIONS

NARROW = (32, 16)
TOO_SMALL = {"Bfp2": 2, "Bfp2_b": 2, "Bfp4": 1, "Bfp4_b": 1}
"""Formats whose tiles of so many rows or less are no multiple of what the NoC moves."""
INTEGERS = ("Int8", "Int32")
SMALL_TILES = frozenset(("matmul", "tilizer", "ethernet_datacopy", *UNARY, *SFPU_FUNCTIONS, *BINARY))
"""Types of ops that take small tiles."""


def check_tiles(context: Context) -> None:
    """Check the queues and ops that have small tiles."""
    for queue in context.netlist.queues.values():
        _check_queue(queue, context)
    for _, op in context.all_ops():
        sources = [context.source(name) for name in op.inputs]
        tiles = [tile_of(source) if source is not None else DEFAULT_TILE for source in sources]
        if any(tile != DEFAULT_TILE for tile in (*tiles, tile_of(op))):
            _check_op(op, tiles, context)


def _text(tile: Pair) -> str:
    return f"{tile[0]}x{tile[1]}"


def _check_queue(queue: BudaQueue, context: Context) -> None:
    tile, producer = tile_of(queue), context.ops.get(queue.input)
    if {f"queue '{queue.name}'", f"op '{queue.input}'"} & context.faulty:
        return
    if producer is not None and tile_of(producer) != tile:
        message = f"its tiles are {_text(tile)}, but those of op '{producer.name}', which fills it, {_text(tile_of(producer))}"
        context.queue(queue, "tile_dim", "E0634", message)
    elif tile != DEFAULT_TILE:
        problem = _format_problem(queue.df, tile, context)
        if problem is not None:
            context.queue(queue, "tile_dim", "E0634", problem)


def _format_problem(format: str | None, tile: Pair, context: Context) -> str | None:
    if context.only_grayskull:
        return f"Grayskull has no tiles of {_text(tile)}"
    if format in INTEGERS:
        return f"tiles of {_text(tile)} do not hold {format}"
    if tile[0] <= TOO_SMALL.get(format or "", 0):
        return f"tiles of {_text(tile)} in {format} are no multiple of what the NoC moves"
    return None


def _check_op(op: BudaOp, tiles: list[Pair], context: Context) -> None:
    def report(key: str, message: str, hint: str | None = None) -> None:
        context.op(op, key, "E0634", message, hint)

    own = tile_of(op)
    problem = _format_problem(op.out_df, own, context) if own != DEFAULT_TILE else None
    if problem is not None:
        report("tile_dim", problem)
        return
    small = [index for index, tile in enumerate(tiles) if tile != DEFAULT_TILE]
    if op.gradient_op and op.type in UNARY and tiles and tiles[0] != own:
        report("gradient_op", f"gradients in tiles of {_text(own)} do not add up from tiles of {_text(tiles[0])}")
    if op.type is not None and op.type not in SMALL_TILES and small:
        report("inputs", f"{op.type} takes tiles of 32x32 alone")
    if op.type in SFPU_FUNCTIONS and small:
        tile = tiles[small[0]]
        wanted = "c" if tile == NARROW else "r"
        if op.attributes.get("vector", "") in ("r", "c", "rc", "") and op.attributes.get("vector") != wanted:
            report("attributes", f"tiles of {_text(tile)} need attribute vector {wanted}", f"attributes: {{vector: {wanted}}}")
    if op.type in BINARY and len(set(tiles)) > 1:
        report("inputs", f"tiles of its inputs differ: {', '.join(map(_text, tiles))}")
    elif op.type in (*UNARY, *SFPU_FUNCTIONS, *BINARY) and tiles and (tiles[0] == NARROW) != (own == NARROW):
        report("tile_dim", f"its inputs have tiles of {_text(tiles[0])} and its output {_text(own)}: both are 32x16, or neither")
    if op.type == "matmul":
        _check_matmul(op, tiles, own, context)
    if op.type == "reduce" and op.attributes.get("dim") == "r" and own == NARROW:
        report("tile_dim", "a reduction along r does not make tiles of 32x16")
    if op.type == "reduce" and op.attributes.get("dim") == "c" and own[0] != DEFAULT_TILE[0]:
        report("tile_dim", f"a reduction along c makes tiles of 32 rows, not {_text(own)}")


def _check_matmul(op: BudaOp, tiles: list[Pair], own: Pair, context: Context) -> None:
    def report(key: str, message: str) -> None:
        context.op(op, key, "E0634", message)

    identity = op.attributes.get("identity") is True
    in_factors = any(tile != DEFAULT_TILE for tile in (*tiles[:2], own)) and not identity
    for index, tile in enumerate(tiles):
        legal = index == 1 if identity else index != 2 or tile[0] == 1
        if tile != DEFAULT_TILE and not legal:
            report("inputs", f"input {index} of a {'sparse ' * identity}matmul cannot have tiles of {_text(tile)}")
    if len(tiles) > 1 and (tiles[1] == NARROW) != (own == NARROW):
        report("tile_dim", f"input 1 has tiles of {_text(tiles[1])} and the output {_text(own)}: both are 32x16, or neither")
    if in_factors and op.attributes.get("sfpu_op", "invalid") != "invalid":
        report("attributes", "a matmul of small tiles has no sfpu_op")
    if in_factors and op.gradient_op:
        report("gradient_op", "products of small tiles do not add up as gradients")
    for index, tms in op.input_tms.items():
        turned = any(tm.kind == "transpose" for tm in tms)
        if turned and index < len(tiles) and tiles[index] not in (DEFAULT_TILE, (16, 32)):
            report(f"input_{index}_tms", f"input {index} has tiles of {_text(tiles[index])}, which a matmul cannot transpose")

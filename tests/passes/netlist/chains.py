"""Modules with one graph of matmuls, for tests of placement."""

from __future__ import annotations


def tile(rows: int, cols: int, format_: str = "Float32") -> str:
    return f'!tile.tensor<"{rows}x{cols}x{format_}", "tiles(32, 32)">'


def matmul(name: str, x: str, w: str = "%w", size: int = 1024) -> str:
    """An op `name` at `/layer/name` that multiplies two square values."""
    t = tile(size, size)
    return (
        f'%{name} = netlist.op({x}, {w}) {{sym = "{name}", type = "matmul"}} : ({t}, {t}) -> {t} {{\n'
        f"^bb0(%a: {t}, %b: {t}):\n"
        f"  %c = tile.matmul(%a, %b, _) {{transpose_a = false, transpose_b = false}} : ({t}, {t}) -> {t}\n"
        f'  netlist.yield(%c) : ({t}) -> ()\n}} loc("/layer/{name}")'
    )


def added(name: str, x: str, y: str, size: int = 1024) -> str:
    """An op that adds two square values."""
    t = tile(size, size)
    return (
        f'%{name} = netlist.op({x}, {y}) {{sym = "{name}", type = "map"}} : ({t}, {t}) -> {t} {{\n'
        f"^bb0(%a: {t}, %b: {t}):\n"
        f'  %c = tile.map(%a, %b) {{fn = "add"}} : ({t}, {t}) -> {t}\n'
        f'  netlist.yield(%c) : ({t}) -> ()\n}} loc("/layer/{name}")'
    )


def module(ops: list[str], result: str, size: int = 1024, input_count: int = 1) -> str:
    """A module with a graph of these ops, which read %x and %w."""
    t = tile(size, size)
    shape, streamed = f"[{size * input_count}, {size}]", ", streamed = true" if input_count > 1 else ""

    def port(name: str, kind: str) -> str:
        return f'#netlist.argument<name = "{name}", kind = "{kind}", queue = "{name}", shape = {shape}, dtype = "float32"{streamed}>'

    body = "\n".join([f'%x = netlist.read() {{queue = "x"}} : () -> {t}', f'%w = netlist.read() {{queue = "w"}} : () -> {t}', *ops])
    return f"""
    netlist.queue() {{sym = "x", kind = "input", type = "queue", tensor = {t}}} : () -> ()
    netlist.queue() {{sym = "w", kind = "constant", type = "ram", key = "w", tensor = {t}}} : () -> ()
    netlist.queue() {{sym = "y", kind = "output", type = "queue", tensor = {t}}} : () -> ()
    netlist.graph() {{sym = "g", chip = 0, input_count = {input_count}}} : () -> () {{
    {body}
    netlist.write(%{result}) {{queue = "y"}} : ({t}) -> ()
    }}
    netlist.program() {{sym = "p", arguments = [{port("x", "input")}], results = [{port("y", "output")}]}} : () -> () {{
      netlist.execute() {{graph = "g"}} : () -> ()
    }}
    """


def chain(ops: int, size: int = 1024, input_count: int = 1) -> str:
    """Matmuls, each of the same weight and the one before it."""
    return module([matmul(f"m{i}", f"%m{i - 1}" if i else "%x", size=size) for i in range(ops)], f"m{ops - 1}", size, input_count)


def residual(depth: int, size: int = 512, input_count: int = 8) -> str:
    """An op, `depth` matmuls behind it, and the sum of both."""
    ops = [matmul(f"m{i}", f"%m{i - 1}" if i else "%x", size=size) for i in range(depth + 1)]
    return module([*ops, added("sum", f"%m{depth}", "%m0", size)], "sum", size, input_count)

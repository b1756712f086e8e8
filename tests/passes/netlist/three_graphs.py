"""Text of a small netlist: three graphs in a row, joined by queues."""

from __future__ import annotations

TENSOR = '!tile.tensor<"32x32xFloat32", "tiles(32, 32)">'


def queue(name: str, kind: str, chip: int = 0) -> str:
    fields = f'sym = "{name}", kind = "{kind}", type = "queue", location = "dram", chip = {chip}, tensor = {TENSOR}'
    return f"netlist.queue() {{{fields}}} : () -> ()"


def graph(name: str, reads: list[str], writes: list[str], chip: int = 0) -> str:
    body = [f'%read_{r} = netlist.read() {{queue = "{r}"}} : () -> {TENSOR}' for r in reads]
    body += [
        f'%o = netlist.op(%read_{reads[0]}) {{sym = "{name}_op", type = "map"}} : ({TENSOR}) -> {TENSOR} {{\n^bb0(%a: {TENSOR}):\n'
        f'%b = tile.map(%a) {{fn = "relu"}} : ({TENSOR}) -> {TENSOR}\nnetlist.yield(%b) : ({TENSOR}) -> ()\n}}'
    ]
    body += [f'netlist.write(%o) {{queue = "{w}"}} : ({TENSOR}) -> ()' for w in writes]
    return f'netlist.graph() {{sym = "{name}", chip = {chip}, input_count = 1}} : () -> () {{\n' + "\n".join(body) + "\n}"


def argument(name: str, kind: str) -> str:
    return f'#netlist.argument<name = "{name}", kind = "{kind}", queue = "{name}", shape = [32, 32], dtype = "float32">'


def program(*steps: str) -> str:
    head = f'arguments = [{argument("x", "input")}], results = [{argument("y", "output")}], sym = "p"'
    return f"netlist.program() {{{head}}} : () -> () {{\n" + "\n".join(steps) + "\n}"


def execute(name: str) -> str:
    return f'netlist.execute() {{graph = "{name}"}} : () -> ()'


QUEUES = [queue("x", "input"), queue("w", "constant"), queue("a", "edge"), queue("b", "edge"), queue("y", "output")]
GRAPHS = [graph("g0", ["x", "w"], ["a"]), graph("g1", ["a"], ["b"]), graph("g2", ["b"], ["y"])]
RUN = [execute("g0"), execute("g1"), execute("g2")]

"""A netlist written by hand whose programs hand entries over in a stash: compiled, saved, loaded, run on both engines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ttc
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.options import CompileOptions, resolve

ENTRIES = 3
T = '!tile.tensor<"4xFloat32", "rows">'


def queue(name: str, kind: str, address: int, entries: int = 1, more: str = ", lifetime = [0, 0]") -> str:
    place = f"buffer_bytes = {16 * entries}, buffers = #netlist.addresses<[[0, {address}]]>, chip = 0, entries = {entries}, grid = [1, 1]"
    return f'netlist.queue() {{{place}, kind = "{kind}", location = "host", sym = "{name}", tensor = {T}, type = "queue"{more}}} : () -> ()'


def argument(name: str, kind: str) -> str:
    return f'#netlist.argument<name = "{name}", kind = "{kind}", queue = "{name}", shape = [4], dtype = "float32">'


CHIP = (
    '#netlist.chip<target = "host", arch = "host", chips = 1, l1_usable_bytes = 0, dst_tiles = 0, dram_channels = 0, '
    'dram_channel_bytes = 0, dram_reserved_bytes = 0, alignment_bytes = 64, max_input_queues = 0, formats = ["Float32"]>'
)
TEXT = f"""
builtin.module attributes {{ttc.stage = "netlist", ttc.model = "stashing", ttc.chip = {CHIP},
    ttc.options = {{target = "host", format = "source", precision = "float32"}},
    ttc.parameters = array<i64>, ttc.states = array<i64>}} {{
  {queue("x", "input", 0)}
  {queue("y", "output", 64)}
  {queue("kept", "stash", 128, ENTRIES, "")}
  {queue("g", "input", 192)}
  {queue("z", "output", 256)}
  netlist.graph() {{chip = 0, input_count = 1, sym = "f"}} : () -> () {{
    %x = netlist.read() {{queue = "x"}} : () -> {T}
    %y = netlist.op(%x) {{place = #netlist.host, sym = "twice", type = "map"}} : ({T}) -> {T} {{
    ^bb0(%a: {T}):
      %s = tile.map(%a, %a) {{fn = "add"}} : ({T}, {T}) -> {T}
      netlist.yield(%s) : ({T}) -> ()
    }}
    %k = netlist.op(%x) {{place = #netlist.host, sym = "square", type = "map"}} : ({T}) -> {T} {{
    ^bb0(%a: {T}):
      %s = tile.map(%a, %a) {{fn = "mul"}} : ({T}, {T}) -> {T}
      netlist.yield(%s) : ({T}) -> ()
    }}
    netlist.write(%y) {{queue = "y"}} : ({T}) -> ()
    netlist.write(%k) {{queue = "kept"}} : ({T}) -> ()
  }}
  netlist.graph() {{chip = 0, input_count = 1, sym = "b"}} : () -> () {{
    %k = netlist.read() {{queue = "kept"}} : () -> {T}
    %g = netlist.read() {{queue = "g"}} : () -> {T}
    %z = netlist.op(%k, %g) {{place = #netlist.host, sym = "product", type = "map"}} : ({T}, {T}) -> {T} {{
    ^bb0(%a: {T}, %b: {T}):
      %s = tile.map(%a, %b) {{fn = "mul"}} : ({T}, {T}) -> {T}
      netlist.yield(%s) : ({T}) -> ()
    }}
    netlist.write(%z) {{queue = "z"}} : ({T}) -> ()
  }}
  netlist.program() {{sym = "forward", arguments = [{argument("x", "input")}], results = [{argument("y", "output")}]}} : () -> () {{
    netlist.execute() {{graph = "f"}} : () -> ()
  }}
  netlist.program() {{sym = "backward", arguments = [{argument("g", "input")}], results = [{argument("z", "output")}]}} : () -> () {{
    netlist.execute() {{graph = "b"}} : () -> ()
  }}
}}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "stashing.mlir"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_forwards_then_backwards(engine: str, source: Path, tmp_path: Path, rng: np.random.Generator) -> None:
    archive = tmp_path / "stashing.tti"
    ttc.compile(source).save(archive)
    xs, gs = (rng.standard_normal((ENTRIES + 1, 4)).astype(np.float32) for _ in range(2))
    with ttc.load(archive, engine=engine) as executor:
        for x in xs[:ENTRIES]:
            np.testing.assert_array_equal(executor.run({"x": x}, program="forward")["y"], x + x)
        with pytest.raises(Error, match="all its 3 entries are taken") as failure:
            executor.run({"x": xs[ENTRIES]}, program="forward")
        assert failure.value.code == "E0804"
        for x, g in zip(xs[:ENTRIES], gs[:ENTRIES], strict=True):
            np.testing.assert_array_equal(executor.run({"g": g}, program="backward")["z"], x * x * g)
        with pytest.raises(Error, match="which is empty") as failure:
            executor.run({"g": gs[0]}, program="backward")
        assert failure.value.code == "E0804"
        executor.run({"x": xs[ENTRIES]}, program="forward")
        np.testing.assert_array_equal(executor.run({"g": gs[0]}, program="backward")["z"], xs[ENTRIES] * xs[ENTRIES] * gs[0])


def test_text_keeps_it(source: Path, tmp_path: Path) -> None:
    netlist = ttc.compile(source).netlist
    assert (netlist.queues["kept"].kind, netlist.queues["kept"].source) == ("stash", "square")
    again = tmp_path / "again.mlir"
    again.write_text(compile_path(source, resolve(CompileOptions, {"to": "netlist"})).text())
    assert ttc.compile(again).netlist == netlist


def test_a_stash_that_nothing_reads_is_an_error(source: Path) -> None:
    text = source.read_text()
    start = text.index('netlist.program() {sym = "backward"')
    source.write_text(text[:start] + "}\n")
    with pytest.raises(Error, match="no program reads this stash") as failure:
        ttc.compile(source)
    assert (failure.value.code, failure.value.where) == ("E0608", "queue 'kept'")

"""How fast a page of `ttc view` is: a chain of COUNT ops (3000), in a Chromium that is there (extra view-test).

    python tools/bench_view.py [COUNT]

Prints bytes of the page, seconds until it is ready, until all nodes are drawn unfolded, and frames a second while it is moved.
Exit status 1 beyond 20 MB, 5 s, or below 30 frames a second.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from playwright.sync_api import sync_playwright

import checkout  # noqa: F401  the packages of this checkout
from ttc.cli import main as ttc
from view_pages import chromium

MOST_BYTES, MOST_SECONDS, LEAST_FRAMES = 20e6, 5.0, 30.0
MOVED = """async (seconds) => { const pane = graphTab.pane; const begun = pane.frames; const start = performance.now();
while (performance.now() - start < seconds * 1000) { pane.move(0, 30); await new Promise((done) => requestAnimationFrame(done)); }
return (pane.frames - begun) / seconds; }"""


def chain(count: int) -> onnx.ModelProto:
    """Return a chain of elementwise functions in blocks of fifty."""
    kinds = ("Relu", "Sigmoid", "Tanh", "Abs")
    names = ["x", *(f"v{number}" for number in range(count))]
    nodes = [
        helper.make_node(kinds[at % 4], [names[at]], [names[at + 1]], name=f"/block{at // 50}/layer{at % 50}/{kinds[at % 4]}_{at}")
        for at in range(count)
    ]
    borders = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 32, 32]) for name in (names[0], names[-1])]
    graph = helper.make_graph(nodes, "chain", borders[:1], borders[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def measured(page: Path) -> tuple[float, float, float]:
    """Return seconds until the page is ready, seconds until all of its nodes are drawn, frames a second."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        view = browser.new_page(viewport={"width": 1400, "height": 900})
        start = time.perf_counter()
        view.goto(f"{page.as_uri()}#tab=graph&stage=nn")
        view.wait_for_selector("canvas")
        ready = time.perf_counter() - start
        view.evaluate("foldsOf(doc.stageByName.get('nn')).depth = 0")
        start = time.perf_counter()
        view.evaluate("() => { show({tab: 'graph', stage: 'nn'}); }")
        view.wait_for_selector("canvas", timeout=60_000)
        drawn = time.perf_counter() - start
        frames = view.evaluate(MOVED, 2)
        browser.close()
    return ready, drawn, frames


def main(count: int) -> int:
    """Measure; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        model, archive, dump, page = (Path(folder) / name for name in ("chain.onnx", "chain.tti", "dump", "chain.html"))
        onnx.save(chain(count), model)
        for command in (("compile", model, "-o", archive, "--dump", dump), ("view", archive, "--dump", dump, "-o", page)):
            if ttc([*map(str, command), "-q"]):
                return 2
        size = page.stat().st_size
        ready, drawn, frames = measured(page)
    print(f"{count} ops: {size / 1e6:.2f} MB, ready after {ready:.2f} s, unfolded after {drawn:.2f} s, {frames:.0f} frames a second")
    return int(size > MOST_BYTES or max(ready, drawn) > MOST_SECONDS or frames < LEAST_FRAMES)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000))

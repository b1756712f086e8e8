"""Pages of `ttc view` for the documentation, and the picture of one for the README.

    python tools/view_pages.py [FOLDER]             write the pages; default: build/view
    python tools/view_pages.py --picture FILE.png   write the picture, with a Chromium that is there (extra view-test)

Models are made here, with random weights of seed 0: a ResNet-50, an encoder like BERT's in block floating point, a training step.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import checkout  # noqa: F401  the packages of this checkout
from bench_passes import Encoder
from demo import Builder, resnet50
from ttc.cli import main as ttc

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "view"
LAYERS = 12
"""The number of layers of the encoder, as BERT has."""


class NamedEncoder(Encoder):
    """An encoder whose nodes have the names of the modules that they are in."""

    def __init__(self) -> None:
        super().__init__()
        self._layers = 0

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        found = super().node(op, *inputs, **attributes)
        self.nodes[-1].name = f"/encoder/layer.{self._layers}/{op}_{len(self.nodes) - 1}"
        return found

    def layer(self, x: str) -> str:
        found = super().layer(x)
        self._layers += 1
        return found


def encoder() -> onnx.ModelProto:
    """Return the encoder."""
    made, x = NamedEncoder(), "x"
    for _ in range(LAYERS):
        x = made.layer(x)
    return made.model(x)


def classifier() -> onnx.ModelProto:
    """Return a small convolutional classifier: x[16, 1, 28, 28] -> logits[16, 10]."""
    b = Builder(np.random.default_rng(0))
    y = b.node("Relu", "stem.relu", b.conv_norm("stem", "x", (1, 16), 3, 2))
    y = b.node("Relu", "body.relu", b.conv_norm("body", y, (16, 32), 3, 2))
    y = b.node("Flatten", "flat", b.node("GlobalAveragePool", "pool", y), axis=1)
    b.node("Gemm", "logits", y, b.weight("head.w", b.random.standard_normal((10, 32)) / 8), b.weight("head.b", np.zeros(10)), transB=1)
    borders = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in (("x", [16, 1, 28, 28]), ("logits", [16, 10]))]
    graph = helper.make_graph(b.nodes, "classifier", borders[:1], borders[1:], b.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


PAGES: dict[str, tuple[Callable[[], onnx.ModelProto], tuple[str, ...], bool]] = {
    "resnet50": (resnet50, (), False),
    "encoder": (encoder, ("--format", "Bfp8_b"), True),
    "training": (classifier, ("--loss", "cross_entropy", "--optimizer", "adamw:lr=0.001"), False),
}
"""The pages by name: the model, flags of its compilation, and whether its nodes are compared."""


def write_page(name: str, folder: Path) -> Path:
    """Compile a model of PAGES for n150, and write its page into a folder."""
    build, flags, checked = PAGES[name]
    with tempfile.TemporaryDirectory() as place:
        model, archive, dump = (Path(place) / text for text in (f"{name}.onnx", f"{name}.tti", "dump"))
        onnx.save(build(), model)
        page = folder / f"{name}.html"
        _run("compile", str(model), "-o", str(archive), "--target", "n150", "--dump", str(dump), *flags)
        _run("view", str(archive), "--dump", str(dump), "-o", str(page), *(("--check", str(model)) if checked else ()))
    return page


def write_pages(folder: Path = FOLDER) -> list[Path]:
    """Write all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    return [write_page(name, folder) for name in PAGES]


def chromium() -> str:
    """Return the Chromium that is there, which variable CHROMIUM may name.  Ends the process if there is none."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        sys.exit("there is no Chromium on this machine: install Debian's package chromium")
    return found


def write_picture(path: Path) -> None:
    """Write a picture of ResNet-50's page: the device in its third epoch."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = write_page("resnet50", Path(folder))
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        view = browser.new_page(viewport={"width": 1280, "height": 760})
        view.goto(f"{page.as_uri()}#tab=device&epoch=2&stage=netlist&op=9")
        view.wait_for_selector("#details >> text=History of its nodes")
        view.wait_for_timeout(500)
        view.screenshot(path=path)
        browser.close()


def _run(*command: str) -> None:
    """Run a command of ttc.  Ends the process with its status if it fails."""
    status = ttc([*command, "-q"])
    if status:
        sys.exit(status)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--picture"]:
        write_picture(Path(sys.argv[2]))
    else:
        write_pages(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)

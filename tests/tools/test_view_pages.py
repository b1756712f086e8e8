"""Tests of tools/view_pages.py: pages for the site."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import onnx

from tests.test_pages import PICTURED
from view_pages import LAYERS, PAGES, encoder, write_page


def test_the_site_links_to_all() -> None:
    assert {f"view/{name}.html" for name in PAGES} == PICTURED


def test_nodes_have_names_of_modules() -> None:
    names = [node.name for node in encoder().graph.node]
    assert len(set(names)) == len(names)
    assert {name.split("/")[2] for name in names} == {f"layer.{number}" for number in range(LAYERS)}


def test_a_page_of_a_training_step(tmp_path: Path) -> None:
    text = write_page("training", tmp_path).read_text()
    (data,) = re.findall(r'id="document">([A-Za-z0-9+/=]*)<', text)
    found = json.loads(gzip.decompress(base64.b64decode(data)))
    assert {"forward", "backward", "optimizer", "step"} <= found["signatures"].keys()
    assert {program["name"] for program in found["programs"]} == found["signatures"].keys()
    assert any(row["name"].startswith("differentiate") for row in found["passes"])


def test_models_are_sound() -> None:
    for build, _, _ in PAGES.values():
        onnx.checker.check_model(build())

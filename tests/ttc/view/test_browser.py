"""The page in a real Chromium: every tab, a click, a search; and the questions that it answers in three clicks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ttc.view.conftest import HOSTILE, Compiled
from ttc.cli import main

playwright = pytest.importorskip("playwright.sync_api", reason="the extra view-test is not installed: make test-view")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine: install Debian's package chromium")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")


@pytest.fixture(scope="module")
def pages(compiled: Compiled) -> dict[str, Path]:
    """Pages of the block format's archive with errors by node, and of the other with all else."""
    whole, coarse = compiled.folder / "whole.html", compiled.folder / "coarse.html"
    flags = ["--dump", str(compiled.dump), "--profile", "-q"]
    assert main(["view", str(compiled.archive), str(compiled.other), *flags, "-o", str(whole)]) == 0
    assert main(["view", str(compiled.other), "--check", str(compiled.model), "-o", str(coarse), "-q"]) == 0
    return {"whole": whole, "coarse": coarse}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture
def whole(browser: Any, pages: dict[str, Path]) -> Iterator[Any]:
    yield from opened(browser, pages["whole"])


def opened(browser: Any, path: Path) -> Iterator[Any]:
    """A page that is ready; afterwards it has asked nothing of anybody and no script of it has failed."""
    faults: list[str] = []
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: faults.append(request.url) if not request.url.startswith(("file:", "blob:")) else None)
    page.on("dialog", lambda dialog: faults.append("a dialog"))
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    yield page
    page.close()
    assert faults == []


def tab(page: Any, name: str) -> None:
    page.click(f"#tabs button:text-is('{name}')")


def test_every_tab_shows_something(whole: Any) -> None:
    for name, sign in (
        ("Graph", "canvas"),
        ("Passes", ".diff .line"),
        ("Device", "svg.cores .op"),
        ("Timeline", "#slowest tr.link"),
        ("Numbers", ".empty"),
        ("Compare", "td"),
    ):
        tab(whole, name)
        whole.wait_for_selector(f"#view {sign}")
    assert "Bfp8_b" in whole.inner_text("#view")


def test_a_hostile_name_is_text(whole: Any) -> None:
    whole.fill("#search", "onerror")
    whole.press("#search", "Enter")
    whole.wait_for_selector("#details h2")
    assert HOSTILE in whole.inner_text("#details")
    assert whole.query_selector("#details img") is None


def test_links_keep_the_state_and_keys_work(whole: Any) -> None:
    whole.keyboard.press("3")
    whole.wait_for_selector("svg.cores")
    whole.click("svg.cores .op")
    title, address = whole.inner_text("#details h2"), whole.url
    whole.keyboard.press("1")
    whole.wait_for_selector("canvas")
    whole.keyboard.press("s")
    whole.goto(address)
    whole.wait_for_selector("svg.cores")
    assert whole.inner_text("#details h2") == title
    before = whole.evaluate("getComputedStyle(document.body).backgroundColor")
    whole.keyboard.press("t")
    assert whole.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_a_click_on_the_graph_chooses_an_op(whole: Any) -> None:
    whole.wait_for_selector("canvas")
    whole.wait_for_function("graphTab.pane && graphTab.pane.fitted")
    at = whole.evaluate(
        """() => { const [pane, node] = [graphTab.pane, graphTab.picture.nodes[1]]; const area = pane.canvas.getBoundingClientRect();
        return [area.left + (node.x - pane.x) * pane.scale, area.top + (node.y - pane.y) * pane.scale]; }"""
    )
    whole.mouse.click(*at)
    whole.wait_for_selector("#details dl")
    assert whole.inner_text("#details h2") == "matmul"
    assert "/block.0/gelu" in whole.inner_text("#details")


@pytest.mark.parametrize("kind", ["SVG", "PNG"])
def test_pictures_can_be_kept(whole: Any, kind: str, tmp_path: Path) -> None:
    whole.wait_for_selector("canvas")
    with whole.expect_download() as download:
        whole.click(f".tools button:text-is('{kind}')")
    download.value.save_as(tmp_path / "picture")
    data = (tmp_path / "picture").read_bytes()
    assert data.startswith(b"<svg" if kind == "SVG" else b"\x89PNG")
    assert len(data) > 1000


@pytest.mark.parametrize(("kind", "name"), [("ops", "ops"), ("cores", "core 0,0"), ("queues", "")])
def test_lanes_of_the_timeline(whole: Any, kind: str, name: str) -> None:
    tab(whole, "Timeline")
    whole.select_option("select >> nth=1", kind)
    lanes = whole.evaluate("programLanes(doc.programs[0], timelineTab.lanes).map((lane) => lane.name)")
    assert lanes[0].startswith("chip 0: ")
    assert "% busy" in lanes[0]
    assert kind == "queues" or name in lanes
    assert whole.evaluate("programLanes(doc.programs[0], timelineTab.lanes).every((lane) => lane.bars.every((bar) => bar.us >= 0))")


def test_which_source_made_the_slowest_op(whole: Any) -> None:
    tab(whole, "Timeline")
    whole.click("#slowest tr.link >> nth=0")
    assert "/block.1/softmax" in whole.inner_text("#details")


def test_why_an_op_runs_on_the_host(whole: Any) -> None:
    tab(whole, "Device")
    assert "nn.cumsum runs on the host: n150 has no kernel for it" in whole.inner_text("#host")


def test_what_fills_dram_at_its_peak(whole: Any) -> None:
    tab(whole, "Device")
    first = whole.inner_text("#peak tbody tr >> nth=0")
    assert "32x64 Float32" in first
    assert "%" in first


def test_which_pass_fused_the_gelu(whole: Any) -> None:
    whole.fill("#search", "netlist gelu")
    whole.press("#search", "Enter")
    whole.wait_for_selector("#details >> text=fuse-activation")
    assert "gelu folded into nn.matmul" in whole.inner_text("#details")


def test_where_a_block_format_loses_most(browser: Any, pages: dict[str, Path]) -> None:
    for page in opened(browser, pages["coarse"]):
        tab(page, "Numbers")
        rows = page.query_selector_all("#view tbody tr")
        shares = [float(row.query_selector("td:nth-child(3)").inner_text()) for row in rows]
        assert len(shares) >= 2
        assert shares == sorted(shares, reverse=True)
        rows[0].click()
        page.wait_for_selector("#details >> text=Of its bound")

"""Tests of tools/reference.py."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

import ttc
from reference import MODULES, PAGES, SESSION
from tests.test_pages import GENERATED
from ttc.cli.app import COMMANDS
from ttc.dialects.nn.base import ops as nn_ops
from ttc.dialects.tile.base import ops as tile_ops
from ttc.passes.pipeline_text import all_passes


def headings(page: str, level: int) -> list[str]:
    outside = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.findall(rf"^{'#' * level} (.*)$", outside, re.MULTILINE)


def test_the_pages_are_those_that_others_link_to() -> None:
    assert set(PAGES) == GENERATED


def test_the_api_is_whole() -> None:
    pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    page = PAGES["reference/api.md"]()
    modules = [name for name, needed in MODULES.items() if needed is None or find_spec(needed)]
    names = [*ttc.__all__, *(f"{module}.{name}" for module in modules for name in getattr(ttc, module).__all__)]
    assert headings(page, 2) == [*(f"ttc.{name}" for name in names), SESSION]
    assert {"metrics.scope", "profiler.Profiler"} <= set(names)
    assert {"Readings.value", "Executor.run", "Executor.states", "Program.save", "Session.push"} <= set(headings(page, 3))
    assert "    path: str | os.PathLike[str],\n    threads: int | None = None,\n    *,\n    options: RunOptions | None = None,\n" in page
    assert "\nset_parameters(self, values: Mapping[str, NDArray]) -> None\n" in page
    assert "| `target` (`--target`) | Machine to compile for" in page


def test_a_module_without_its_framework_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    monkeypatch.setitem(MODULES, "metrics", "a_package_that_nobody_has")
    page = PAGES["reference/api.md"]()
    assert "Names of `ttc.metrics` are listed where a_package_that_nobody_has is installed." in page
    assert "ttc.metrics.scope" not in headings(page, 2)


def test_every_command_is_there() -> None:
    found = headings(PAGES["reference/commands.md"](), 2)
    assert [name for name in COMMANDS if f"ttc {name}" not in found] == []
    assert "ttc netlist run" in found


@pytest.mark.parametrize(("dialect", "ops"), [("nn", nn_ops), ("tile", tile_ops)])
def test_every_op_is_there(dialect: str, ops) -> None:
    found = headings(PAGES[f"reference/{dialect}.md"](), 3)
    assert sorted(found) == sorted(kind.name for kind in ops().values())


def test_every_pass_is_there_with_its_ir() -> None:
    page = PAGES["reference/passes.md"]()
    assert headings(page, 2) == list(all_passes())
    assert "%2 = nn.matmul(%x, %w, %b)" in page.partition("## fuse-bias")[2].partition("\n## ")[0]


def test_pages_are_the_same_each_time() -> None:
    pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    assert all(page() == page() for page in PAGES.values())

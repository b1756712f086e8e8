"""Tiles are used only where the system lets them, and where they multiply right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.engines.native.graphs import emulated_tiles
from ttc.runtime.engines.native.codegen import code
from ttc.runtime.engines.native.codegen.features import Cpu, host_cpu
from ttc.runtime.engines.native.codegen.kernel_folders import KernelFolders
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution import amx_check
from ttc.runtime.engines.native.execution.amx_check import multiplies_right, with_checked_tiles

AMX = Cpu("x86-64", frozenset({"amx-tile", "amx-bf16", "sse3"}))
PLAIN = Cpu("x86-64", frozenset({"sse3"}))


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    amx_check._works.cache_clear()
    yield
    amx_check._works.cache_clear()


@pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code")
def test_a_product_is_right() -> None:
    assert multiplies_right(emulated_tiles(), None)


@pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code")
@pytest.mark.parametrize("name", ["_product", "_product_of_bytes"])
def test_a_wrong_product_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    own = getattr(amx_check, name)
    monkeypatch.setattr(amx_check, name, lambda *rest: own(*rest) + 1)
    assert not multiplies_right(emulated_tiles(), None)


@pytest.mark.parametrize(("permitted", "right"), [(True, True), (True, False), (False, True)])
def test_no_amx_where_it_is_refused_or_wrong(monkeypatch: pytest.MonkeyPatch, permitted: bool, right: bool) -> None:
    asked: list[Cpu] = []

    def multiplies(cpu: Cpu, store: object) -> bool:
        assert permitted
        asked.append(cpu)
        return right

    monkeypatch.setattr(amx_check, "permit_amx", lambda: permitted)
    monkeypatch.setattr(amx_check, "multiplies_right", multiplies)
    for _ in range(2):
        assert with_checked_tiles(AMX, KernelFolders()) == NativeEngine(cpu=AMX).checked_cpu() == (AMX if permitted and right else PLAIN)
    assert asked == [AMX] * permitted


def test_cpus_without_amx_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amx_check, "permit_amx", lambda: pytest.fail("asked"))
    assert with_checked_tiles(PLAIN, KernelFolders()) == NativeEngine(cpu=PLAIN).checked_cpu() == PLAIN


@pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code")
def test_a_folder_holds_the_kernels_of_the_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each folder that is filled gets them, and a process without LLVM finds them in the one that is named."""
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(amx_check, "permit_amx", lambda: True)
    cpu = emulated_tiles()
    for name in ("one", "other"):
        assert amx_check._works(cpu, tmp_path / name, fill=True)
        assert len(list((tmp_path / name).glob("*.code"))) == 4
    monkeypatch.setattr(code, "_made", lambda *_: pytest.fail("compiled"))
    assert amx_check._works(cpu, tmp_path / "one", fill=False)

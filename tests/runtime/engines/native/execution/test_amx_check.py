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
from ttc.runtime.engines.native.execution import amx_check, amx_products
from ttc.runtime.engines.native.execution.amx_check import with_checked_tiles

AMX = Cpu("x86-64", frozenset({"amx-tile", "amx-bf16", "sse3"}))
PLAIN = Cpu("x86-64", frozenset({"sse3"}))


class Products:
    """Stands for the products that are multiplied: counts for whom, and says whether they are right."""

    def __init__(self, right: bool = True) -> None:
        self.right, self.asked = right, list[Cpu]()

    def __call__(self, cpu: Cpu, store: object) -> bool:
        self.asked.append(cpu)
        return self.right


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(amx_check, "permit_amx", lambda: True)
    amx_check._works.cache_clear()
    yield
    amx_check._works.cache_clear()


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> Products:
    made = Products()
    monkeypatch.setattr(amx_products, "multiplies_right", made)
    return made


def in_a_new_process(cpu: Cpu = AMX) -> bool:
    """What a process finds that has asked nothing yet."""
    amx_check._works.cache_clear()
    return with_checked_tiles(cpu, KernelFolders()) == cpu


@pytest.mark.parametrize("right", [True, False])
def test_no_amx_where_it_is_wrong(products: Products, right: bool) -> None:
    products.right = right
    for _ in range(2):
        assert with_checked_tiles(AMX, KernelFolders()) == NativeEngine(cpu=AMX).checked_cpu() == (AMX if right else PLAIN)
    assert products.asked == [AMX]


def test_no_amx_where_it_is_refused(monkeypatch: pytest.MonkeyPatch, products: Products) -> None:
    """Each process asks the system, whatever was found before."""
    assert in_a_new_process()
    monkeypatch.setattr(amx_check, "permit_amx", lambda: False)
    assert not in_a_new_process()
    assert products.asked == [AMX]


def test_cpus_without_amx_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amx_check, "permit_amx", lambda: pytest.fail("asked"))
    assert with_checked_tiles(PLAIN, KernelFolders()) == NativeEngine(cpu=PLAIN).checked_cpu() == PLAIN


def test_products_that_were_right_are_not_multiplied_again(monkeypatch: pytest.MonkeyPatch, products: Products, tmp_path: Path) -> None:
    """Until the system is started again, on the same CPU, in the same folder."""
    more = Cpu("x86-64", AMX.features | {"amx-int8"})
    assert in_a_new_process()
    assert in_a_new_process()
    assert products.asked == [AMX]
    assert in_a_new_process(more)
    assert products.asked == [AMX, more]
    boot = tmp_path / "boot_id"
    boot.write_text("another start")
    monkeypatch.setattr(amx_check, "_BOOT", boot)
    assert in_a_new_process()
    assert in_a_new_process()
    assert products.asked == [AMX, more, AMX]
    monkeypatch.setenv("TTC_CACHE_DIR", str(tmp_path / "other"))
    assert in_a_new_process()
    assert len(products.asked) == 4


def test_products_are_multiplied_again_where_the_system_does_not_say_when_it_was_started(
    monkeypatch: pytest.MonkeyPatch, products: Products, tmp_path: Path
) -> None:
    monkeypatch.setattr(amx_check, "_BOOT", tmp_path / "missing")
    assert in_a_new_process()
    assert in_a_new_process()
    assert products.asked == [AMX, AMX]


def test_wrong_products_are_multiplied_again(products: Products) -> None:
    products.right = False
    assert not in_a_new_process()
    assert not in_a_new_process()
    assert products.asked == [AMX, AMX]


@pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code")
def test_a_folder_holds_the_kernels_of_the_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each folder that is filled gets them, and a process without LLVM finds them in the one that is named."""
    cpu = emulated_tiles()
    for name in ("one", "other"):
        assert amx_check._works(cpu, tmp_path / name, fill=True)
        assert len(list((tmp_path / name).glob("*.code"))) == 4
    monkeypatch.setattr(code, "_made", lambda *_: pytest.fail("compiled"))
    assert amx_check._works(cpu, tmp_path / "one", fill=False)

"""Kernels become addresses: with and without a cache, through our linker and LLVM's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen import cache as cache_module
from ttc.runtime.engines.native.codegen import code as module
from ttc.runtime.engines.native.codegen.cache import Cache
from ttc.runtime.engines.native.codegen.code import Code, Linker, OwnLinker, Signature, compiled
from ttc.runtime.engines.native.codegen.features import Cpu, host_cpu

ROOT = Path(__file__).resolve().parents[5]


@dataclass(frozen=True)
class Scale:
    """Multiplies float32 numbers [begin, end) at the first word by a constant."""

    factor: float
    symbol: str = "scale"
    written: list[str] = field(default_factory=list, compare=False)

    @property
    def key(self) -> str:
        return f"scale {self.factor}"

    def llvm_ir(self, cpu: Cpu) -> str:
        self.written.append(cpu.key)
        return f"""
define void @scale(ptr %words, i64 %begin, i64 %end, ptr %scratch) {{
entry:
  %p = load ptr, ptr %words
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %j, %loop ]
  %q = getelementptr float, ptr %p, i64 %i
  %v = load float, ptr %q
  %w = fmul float %v, {self.factor:e}
  store float %w, ptr %q
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %end
  br i1 %more, label %loop, label %out
out:
  ret void
}}
"""


def llvm_linker() -> Linker:
    from ttc.runtime.engines.native.codegen.llvm_linker import LlvmLinker

    return LlvmLinker()


linkers = pytest.mark.parametrize("linker", [OwnLinker, llvm_linker])
if host_cpu().arch != "x86-64":
    linkers = pytest.mark.parametrize("linker", [llvm_linker])


@pytest.fixture(autouse=True)
def version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "generator_version", lambda: b"version")


def ran(code: Code, kernel: Scale) -> list[float]:
    """Numbers 1 to 5 after tasks 1 to 3."""
    values = np.arange(1, 6, dtype=np.float32)
    words = np.array([values.ctypes.data], np.int64)
    Signature(code.address(kernel))(words.ctypes.data, 1, 4, None)
    return values.tolist()


@linkers
def test_kernels_are_compiled_once_and_kept(tmp_path: Path, linker: Callable[[], Linker]) -> None:
    kernels = [Scale(2.0), Scale(-0.5), Scale(2.0)]
    cpu, cache = host_cpu(), Cache(tmp_path / "cache")
    for made in (2, 0):
        code = compiled(kernels, cpu, cache, linker())
        assert code.made == made
        assert ran(code, kernels[0]) == [1, 4, 6, 8, 5]
        assert ran(code, kernels[1]) == [1, -1, -1.5, -2, 5]
        code.close()
        code.close()
    assert sum(len(kernel.written) for kernel in kernels) == 2
    assert compiled(kernels, cpu.limited_to("generic"), cache, linker()).made == 2
    assert compiled(kernels, cpu, None, linker()).made == 2


@pytest.mark.parametrize("data", [b"", b"\x7fELF", bytes(100)])
def test_kept_code_that_is_none(data: bytes, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(Scale(2.0).key, host_cpu(), data)
    with pytest.raises(Error) as failure:
        compiled([Scale(2.0)], host_cpu(), cache, OwnLinker())
    assert failure.value.code == "E0901"


@linkers
def test_a_module_without_the_function(linker: Callable[[], Linker]) -> None:
    with pytest.raises(Error) as failure:
        compiled([Scale(2.0, symbol="scala")], host_cpu(), None, linker())
    assert (failure.value.code, "'scala'" in failure.value.message) == ("E0901", True)


def test_a_module_that_is_wrong_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    with pytest.raises(Error) as failure:
        compiled([Scale(2.0), Scale(float("nan"))], host_cpu(), cache)
    assert failure.value.code == "E0901"
    assert list(cache.entries()) == []


def test_other_architectures_are_linked_by_llvm() -> None:
    assert type(module._linker_for(Cpu("x86-64", frozenset()))).__name__ == "OwnLinker"
    assert type(module._linker_for(Cpu("riscv64", frozenset()))).__name__ == "LlvmLinker"


def test_without_llvmlite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    compiled([Scale(2.0)], host_cpu(), cache, OwnLinker())
    monkeypatch.setitem(sys.modules, "ttc.runtime.engines.native.codegen.machine_code", None)
    assert compiled([Scale(2.0)], host_cpu(), cache, OwnLinker()).made == 0
    with pytest.raises(Error) as failure:
        compiled([Scale(3.0)], host_cpu(), cache, OwnLinker())
    assert (failure.value.code, failure.value.hint) == ("E0104", "pip install llvmlite")


@pytest.mark.skipif(host_cpu().arch != "x86-64", reason="elsewhere LLVM links")
def test_a_warm_cache_needs_no_llvm(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.runtime.engines.native.codegen import test_code as t\n"
        "t.cache_module.generator_version = lambda: b'version'\n"
        "kernel = t.Scale(2.0); code = t.compiled([kernel], t.host_cpu(), t.Cache(Path(sys.argv[1])))\n"
        "print(code.made, t.ran(code, kernel), 'llvmlite' in sys.modules)"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", begin + code, str(tmp_path / "c")], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for begin in ("", "import sys; sys.modules['llvmlite'] = None; sys.executable = ''\n")
    ]
    assert found == ["1 [1.0, 4.0, 6.0, 8.0, 5.0] False\n", "0 [1.0, 4.0, 6.0, 8.0, 5.0] True\n"]


def test_an_error_names_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwritable(_: Scale, cpu: Cpu) -> str:
        raise KeyError(cpu.arch)

    monkeypatch.setattr(Scale, "llvm_ir", lambda *_: "no module")
    with pytest.raises(Error) as caught:
        compiled([Scale(2.0)], host_cpu())
    assert (caught.value.code, caught.value.context) == ("E0901", "kernel scale")
    monkeypatch.setattr(Scale, "llvm_ir", unwritable)
    with pytest.raises(Error, match="KeyError") as caught:
        compiled([Scale(2.0)], host_cpu())
    assert (caught.value.code, caught.value.context) == ("E0901", "kernel scale")

"""Kernels compiled in other processes: the same objects, the same errors, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen import compilers as module
from ttc.runtime.engines.native.codegen.compilers import MANY, can_start, compilers
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.codegen.machine_code import object_code

ROOT = Path(__file__).resolve().parents[5]


def text(number: int) -> str:
    return f"define void @k{number}(ptr %p, i64 %a, i64 %b, ptr %s) {{\n  store i64 {number}, ptr %p\n  ret void\n}}\n"


@pytest.fixture
def without_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "llvmlite"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def elsewhere(without_llvm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_here", lambda cpu: pytest.fail("it was compiled in this process"))


@pytest.mark.usefixtures("elsewhere")
def test_objects_are_those_that_this_process_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text(number) for number in range(2 * MANY)]
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        return started[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    with compilers(host_cpu(), len(texts), 2) as made, ThreadPoolExecutor(4) as pool:
        assert list(pool.map(made, texts)) == [object_code(x, host_cpu()) for x in texts]
    assert 1 <= len(started) <= 2
    assert all(process.returncode is not None for process in started)


@pytest.mark.usefixtures("elsewhere")
def test_a_module_that_is_not_right_is_the_error_that_it_is_here() -> None:
    with compilers(host_cpu(), MANY, 1) as made:
        with pytest.raises(Error, match="LLVM does not take generated code") as failure:
            made("define void @k() {\n  ret i32 0\n}\n")
        assert failure.value.code == "E0901"
        assert made(text(1)) == object_code(text(1), host_cpu())


@pytest.mark.usefixtures("without_llvm")
@pytest.mark.parametrize("executable", ["/no/such/python", "/bin/false"])
def test_without_such_a_process_this_one_compiles(executable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = object_code(text(2), host_cpu())
    monkeypatch.setattr(module, "can_start", lambda: True)
    monkeypatch.setattr(sys, "executable", executable)
    with compilers(host_cpu(), MANY, 1) as made:
        assert [made(text(2)), made(text(2))] == [expected] * 2


@pytest.mark.parametrize(("executable", "can"), [("/usr/bin/python3.11", True), ("/usr/bin/uwsgi", False), ("", False), (None, False)])
def test_only_an_interpreter_starts_another(executable: str | None, can: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    assert can_start() == can


@pytest.mark.parametrize("count", [1, MANY])
def test_llvm_stays_out_of_a_process_that_compiles_kernels(count: int) -> None:
    code = f"""
import sys
from tests.runtime.engines.native.codegen.test_code import Scale
from ttc.runtime.engines.native.codegen.code import compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
print(compiled([Scale(float(x)) for x in range(1, {count + 1})], host_cpu()).made, "llvmlite" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [str(count), "False"]

"""Tests of tools/wheels.py: two wheels without a file in both; that of the runtime alone loads and runs archives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import ttc
from wheels import FLOORS, NEEDED, ROOT, build, is_data, modules, runtime_modules

ABSENT = ("xdsl", "onnx", "torch", "yaml", "click", "rich")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def site(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runtime's wheel and the packages that it needs, each a link, and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheels[0]).extractall(folder)
    for name in NEEDED:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        for item in (package, package.with_name(f"{name}.libs")):
            if item.exists():
                (folder / item.name).symlink_to(item)
    return folder


def environment(site: Path, cache: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TTC_", "PYTHON"))}
    return {**kept, "PYTHONPATH": str(site), "TTC_CACHE_DIR": str(cache), "PYTHONHOME": sys.base_prefix}


def run(site: Path, cache: Path, code: str) -> list[str]:
    """The lines that a program prints which finds nothing but the site and Python's own library."""
    command = [sys._base_executable, "-S", "-c", code]  # pyright: ignore[reportAttributeAccessIssue]: where this environment is from
    found = subprocess.run(command, capture_output=True, text=True, cwd=cache, env=environment(site, cache), check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


@pytest.fixture
def archive(small_onnx: Path) -> Path:
    path = small_onnx.with_suffix(".tti")
    ttc.compile(small_onnx, target="host", batch=2).save(path)
    return path


def expected(archive: Path) -> np.ndarray:
    with ttc.load(archive, engine="reference") as executor:
        return next(iter(executor.run({"x": np.ones((2, 8), np.float32)}).values())).ravel()


def test_no_file_is_in_both_wheels_and_none_is_missing(wheels: list[Path]) -> None:
    runtime, rest = ({n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n} for wheel in wheels)
    assert runtime & rest == set()
    tree = [path for folder in FLOORS.values() for path in (ROOT / folder).rglob("*") if path.suffix == ".py" or is_data(path)]
    names = {str(path.relative_to(ROOT)) for path in tree if path.is_file()}
    assert {name if name.startswith("ttc/") else f"ttc/{name}" for name in names} == runtime | rest


def test_the_runtime_is_all_of_its_floor_and_nothing_of_the_compiler() -> None:
    found = runtime_modules(modules())
    assert {name for name in modules() if name.startswith("ttc.runtime")} <= found
    assert not [name for name in found if name.startswith(("ttc.passes", "ttc.importers", "ttc.cli", "ttc.compiler"))]


def test_one_wheel_needs_the_other_and_the_runtime_little(wheels: list[Path]) -> None:
    needs: list[list[str]] = []
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as file:
            (name,) = (name for name in file.namelist() if name.endswith("METADATA"))
            lines = file.read(name).decode().splitlines()
            needs.append([line.split()[1] for line in lines if line.startswith("Requires-Dist: ") and "extra ==" not in line])
    assert sorted(need.partition("<")[0].partition("=")[0].partition(">")[0] for need in needs[0]) == sorted(NEEDED)
    assert f"ttc-runtime=={ttc.__version__}" in needs[1]


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_the_runtime_alone_runs_an_archive(site: Path, archive: Path, tmp_path: Path, engine: str) -> None:
    code = f"""
import sys, numpy, ttc
assert ttc.__file__.startswith({str(site)!r}), ttc.__file__
with ttc.load({str(archive)!r}, threads=1, engine={engine!r}) as executor:
    (y,) = executor.run({{"x": numpy.ones((2, 8), numpy.float32)}}).values()
print("llvmlite" in sys.modules, *[n for n in {ABSENT!r} if n in sys.modules])
print(*y.ravel().tolist())
"""
    for turn in ("cold", "kept"):
        loaded, values = run(site, tmp_path, code)
        assert loaded == str(engine == "native" and turn == "cold")
        np.testing.assert_allclose([float(x) for x in values.split()], expected(archive), rtol=1e-5)


def test_what_belongs_to_the_compiler_says_so(site: Path, tmp_path: Path) -> None:
    code = """
import ttc
for name in ("compile", "training", "compat"):
    try:
        getattr(ttc, name)
    except ttc.Error as error:
        print(error.code, error.hint)
"""
    assert run(site, tmp_path, code) == ["E0104 pip install ttc"] * 3


HEADER = Path(sysconfig.get_paths()["include"], "Python.h")


@pytest.mark.skipif(shutil.which("cc") is None or not HEADER.exists(), reason="needs a C compiler and the headers of Python")
def test_an_archive_runs_from_c(site: Path, archive: Path, tmp_path: Path) -> None:
    library, version = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDVERSION")
    program = tmp_path / "run_archive"
    flags = [f"-I{HEADER.parent}", f"-L{library}", f"-Wl,-rpath,{library}", f"-lpython{version}", "-lm", "-ldl"]
    subprocess.run(["cc", "-Wall", "-Werror", str(ROOT / "examples" / "run_archive.c"), "-o", str(program), *flags], check=True)
    given = environment(site, tmp_path)
    found = subprocess.run([program, archive, "x", "2", "8"], capture_output=True, text=True, env=given, check=False)
    assert found.returncode == 0, found.stderr
    np.testing.assert_allclose([float(line) for line in found.stdout.split()], expected(archive), rtol=1e-4)
    missing = subprocess.run([program, tmp_path / "none.tti", "x", "2", "8"], capture_output=True, text=True, env=given, check=False)
    assert missing.returncode == 2
    assert "E0102" in missing.stderr

"""The wheel: it holds every package, and works outside the checkout; and what importing costs."""

from __future__ import annotations

import ast
import os
import resource
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import ttc

ROOT = Path(__file__).resolve().parent.parent
FLOORS = {"ttc": "ttc", "dialects": "ttc.dialects", "passes": "ttc.passes", "runtime": "ttc.runtime"}
HEAVY = ("torch", "onnx", "onnxruntime", "tensorflow", "xdsl", "llvmlite", "numpy", "ml_dtypes", "yaml", "rich")
HELP_SECONDS = 0.3
"""Of processor time, which others on the machine do not lengthen much."""


def settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def packages_of_the_tree() -> set[str]:
    found: set[str] = set()
    for folder, name in FLOORS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join([name, *init.parent.relative_to(ROOT / folder).parts]))
    return found


def environment(**more: str) -> dict[str, str]:
    """This process's environment without what would lead Python back to the checkout."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TTC_", "PYTHONPATH", "COVERAGE"))}
    return {**kept, **more}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy so that the checkout stays clean."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    copy.mkdir()
    subprocess.run(["cp", "-r", *[str(ROOT / name) for name in (*FLOORS, "pyproject.toml", "README.md", "LICENSE")], str(copy)], check=True)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(copy)], check=True, capture_output=True
    )
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The python of a fresh environment with the wheel in it; dependencies come from this environment, as nothing may be downloaded."""
    folder = wheel.parent / "environment"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python*/site-packages")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run(command, check=True, env=environment())
    paths = [path for path in sys.path if "site-packages" in path]
    (packages / "dependencies.pth").write_text("\n".join(paths))
    return python


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=python.parent, env=environment(), check=False)


def test_packages_are_listed() -> None:
    listed = settings()["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(packages_of_the_tree())


def test_type_checkers_see_every_file() -> None:
    wanted = {path.name for path in (ROOT / "ttc").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    links = {path.name for path in (ROOT / "tools" / "typing" / "ttc").iterdir() if path.resolve().exists()}
    assert links == wanted | {"dialects", "passes", "runtime"}


def test_stubs_are_those_of_modules_that_are_imported() -> None:
    """What other extras than `test` install has a stub, and so has what ships no types, or types that take minutes to infer."""
    modules: set[str] = set()
    for path in (path for folder in ("tools", "examples", "ttc", "tests") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                modules.add(node.module)
    stubs = ROOT / "tools" / "stubs"
    packages = {path.name for path in stubs.iterdir()}
    found = {".".join(p.relative_to(stubs).with_suffix("").parts).removesuffix(".__init__") for p in stubs.rglob("*.pyi")}
    imported = {name for name in modules if name.partition(".")[0] in packages}
    assert found == {".".join(name.split(".")[:depth]) for name in imported for depth in range(1, name.count(".") + 2)}


def test_version_is_one() -> None:
    assert settings()["project"]["version"] == ttc.__version__


def test_wheel_is_clean_and_complete(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"ttc", f"ttc-{ttc.__version__}.dist-info"}
    assert "ttc/py.typed" in names
    data = [path for floor in FLOORS for path in (ROOT / floor).rglob("data/**/*") if path.is_file() and path.suffix != ".pyc"]
    assert data
    wanted = {str(path.relative_to(ROOT)) for path in data}
    assert {name if name.startswith("ttc/") else f"ttc/{name}" for name in wanted} <= set(names)


def test_wheel_runs_in_a_fresh_environment(installed: Path) -> None:
    found = run(installed.parent / "ttc", "--help")
    assert found.returncode == 0, found.stderr
    assert "compile" in found.stdout
    assert run(installed, "-m", "ttc", "--version").stdout == f"ttc {ttc.__version__}\n"


def test_wheel_imports_every_package(installed: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
    names = settings()["tool"]["setuptools"]["packages"]
    code = "import importlib, ttc; print(ttc.__file__); [importlib.import_module(name) for name in " + repr(names) + "]"
    found = run(installed, "-c", code)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(str(installed.parent.parent))


def test_wheel_lists_targets(installed: Path) -> None:
    found = run(installed, "-m", "ttc", "targets")
    assert found.returncode == 0, found.stderr
    rows = [line.split()[0] for line in found.stdout.splitlines()[1:] if line and ":" not in line.split()[0]]
    assert rows == ["e150", "e75", "host", "n150", "n300", "p100", "p150"]


def test_wheel_takes_a_model_the_whole_way(installed: Path, small_onnx: Path) -> None:
    archive = small_onnx.with_suffix(".tti")
    for command in (["compile", str(small_onnx), "-o", str(archive), "--batch", "2"], ["run", str(archive)], ["info", str(archive)]):
        found = run(installed, "-m", "ttc", *command)
        assert found.returncode == 0, found.stderr


def loaded_by(code: str, modules: Sequence[str] = HEAVY) -> set[str]:
    """Which of the modules, heavy packages if none are named, a piece of code loads."""
    program = f"import sys\n{code}\nprint(*[n for n in {modules!r} if n in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, env=environment(), check=True)
    return set(found.stdout.splitlines()[-1].split()) if found.stdout.strip() else set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["compile", "--help"], ["run", "--help"], ["info", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    assert loaded_by(f"from ttc.cli import main\nmain({arguments!r})") == set()


def test_importing_ttc_loads_nothing_heavy() -> None:
    assert loaded_by("import ttc\nttc.CompileOptions(), ttc.Error('E0101', '')") == set()


def test_options_of_runs_are_read_without_those_of_compiling() -> None:
    code = "from ttc.loading import RunOptions, options_for\nassert options_for(RunOptions, None, {'threads': 2}).threads == 2"
    assert loaded_by(code, ("ttc.options", "ttc.settings.train_options")) == set()
    assert loaded_by(f"import os\nos.environ['TTC_SEED'] = '3'\n{code}", ("ttc.options",)) == {"ttc.options"}


def test_help_is_quick() -> None:
    seconds: list[float] = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "ttc", "--help"], cwd=ROOT, env=environment(), check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < HELP_SECONDS


UNUSED = (
    "ttc.debug.crash",
    "ttc.instruments.numerics",
    "ttc.runtime.engines",
    "ttc.runtime.program",
    "ttc.dialects.core.machines.target_files",
)
"""Modules of ours that an ordinary compilation does without: what failed, what is watched, what runs."""
PLACING = ("ttc.passes.netlist.balancer", "ttc.passes.netlist.chip_assigner", "ttc.runtime.perf.epoch")
"""Those that find places on a device."""


@pytest.mark.parametrize(("target", "placing"), [("host", set()), ("n150", set(PLACING))])
def test_compiling_loads_what_it_uses(small_onnx: Path, tmp_path: Path, target: str, placing: set[str]) -> None:
    arguments = ["compile", str(small_onnx), "-o", str(tmp_path / "m.tti"), "--batch", "2", "-q", "--target", target]
    code = f"from ttc.cli import main\nassert main({arguments!r}) == 0"
    loaded = loaded_by(code, (*HEAVY, *UNUSED, *PLACING, "ttc.passes.microbatch"))
    assert loaded == {"onnx", "xdsl", "numpy", "ml_dtypes"} | placing


def test_checking_loads_no_engine(small_onnx: Path) -> None:
    code = f"from ttc.cli import main\nassert main(['check', {str(small_onnx)!r}, '--batch', '2', '-q']) == 0"
    assert loaded_by(code, (*HEAVY, *UNUSED)) == {"onnx", "xdsl", "numpy", "ml_dtypes"}


def test_running_loads_no_compiler(small_onnx: Path) -> None:
    import ttc.cli

    archive = small_onnx.with_suffix(".tti")
    assert ttc.cli.main(["compile", str(small_onnx), "-o", str(archive), "--batch", "2", "-q"]) == 0
    loaded = loaded_by(f"from ttc.cli import main\nassert main(['run', {str(archive)!r}, '-q']) == 0")
    assert loaded.isdisjoint({"torch", "onnx", "onnxruntime", "tensorflow", "xdsl"})
    assert "numpy" in loaded

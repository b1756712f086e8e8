"""Build the two wheels that are published: `ttc-runtime`, which loads and runs archives, and `ttc`, which is all the rest and needs it.

    python tools/wheels.py [--out dist]

No file is in both.  What loads without xDSL, frameworks and PyYAML is the runtime's, as far as running an archive can reach it.
Installing a checkout (`pip install -e .`) gives everything at once, without these two.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOORS = {"ttc": "ttc", "ttc.dialects": "dialects", "ttc.passes": "passes", "ttc.runtime": "runtime"}
ENTRIES = ("ttc", "ttc.loading", "ttc.options", "ttc.metrics", "ttc.profiler", "ttc.profiler.variable")
"""Modules of the topmost floor that running an archive begins with."""
RUNTIME_FLOORS = ("ttc.runtime.", "ttc.dialects.")
FOREIGN = frozenset({"xdsl", "onnx", "torch", "tensorflow", "keras", "click", "rich", "yaml"})
"""Packages that a machine which only runs archives need not have."""
NEEDED = ("numpy", "ml_dtypes", "llvmlite")
"""Packages that the runtime needs; llvmlite only where machine code is not there yet."""


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Return the files of all floors by the names of their modules."""
    found: dict[str, Path] = {}
    for package, folder in FLOORS.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            found[".".join([package, *(parts[:-1] if parts[-1] == "__init__" else parts)])] = path
    return found


def loaded(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names that a module imports as it is loaded: not those for type checkers, nor those inside functions."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.If):
            yield from loaded(node.orelse if "TYPE_CHECKING" in ast.unparse(node.test) else [*node.body, *node.orelse])
        elif isinstance(node, ast.Try | ast.With):
            yield from loaded(node.body)


def closure(names: Iterable[str], imports: Mapping[str, set[str]]) -> set[str]:
    """Return the modules that are loaded with some of them: what they import, and the packages that they lie in."""
    seen: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in seen or name not in imports:
            continue
        seen.add(name)
        pending += [*imports[name], name.rpartition(".")[0]]
    return seen


def runtime_modules(found: Mapping[str, Path]) -> set[str]:
    """Return the modules of `ttc-runtime`: all that running an archive can load.  Raises ValueError if one of runtime/ would load more."""
    imports = {name: set(loaded(ast.parse(path.read_text()).body)) for name, path in found.items()}
    foreign = {name for name, items in imports.items() if any(item.partition(".")[0] in FOREIGN for item in items)}
    alone = {name for name in found if name.startswith(RUNTIME_FLOORS) and not closure([name], imports) & foreign}
    chosen = closure([*ENTRIES, *alone], imports)
    missing = {name for name in found if name.startswith("ttc.runtime.")} - alone | chosen & foreign
    if missing:
        raise ValueError(f"the runtime alone cannot load {', '.join(sorted(missing))}")
    return chosen


def copied(names: Iterable[str], data: Iterable[Path], to: Path) -> None:
    """Copy modules, and files that are no modules, into a tree of their own."""
    everything = modules()
    for path in (*(everything[name] for name in names), *data):
        target = to / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def settings(project: Mapping[str, object], names: Iterable[str]) -> str:
    """Return the pyproject.toml of one wheel: the fields of its project, and the packages that its modules lie in."""
    everything = modules()
    packages = sorted({name if everything[name].name == "__init__.py" else name.rpartition(".")[0] for name in names})
    lines = ["[build-system]", 'requires = ["setuptools>=77"]', 'build-backend = "setuptools.build_meta"', "[project]"]
    lines += [f"{key} = {toml(value)}" for key, value in project.items()]
    lines += ["[tool.setuptools]", f"packages = {toml(packages)}", f"package-dir = {toml(FLOORS)}"]
    lines += ["[tool.setuptools.package-data]", '"*" = ["py.typed", "data/**/*", "schema.json", "assets/*"]']
    return "\n".join(lines) + "\n"


def toml(value: object) -> str:
    """Return a text, or lists and tables of such, as TOML has them."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def build(out: Path) -> list[Path]:
    """Build both wheels into a folder; returns their paths, that of the runtime first."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = modules()
    runtime = runtime_modules(found)
    shared = {key: whole[key] for key in ("version", "license", "license-files", "requires-python", "classifiers")}
    kept = [item for item in whole["dependencies"] if item.startswith(NEEDED)]
    alone = {"name": "ttc-runtime", "description": "Loads and runs archives that ttc compiled", **shared, "dependencies": kept}
    rest = {**whole, "dependencies": [*whole["dependencies"], f"ttc-runtime=={whole['version']}"]}
    data = {path for folder in FLOORS.values() for path in (ROOT / folder).rglob("*") if path.is_file() and is_data(path)}
    needed = {path for path in data if package_of(path, found) in runtime}
    return [_wheel(alone, runtime, needed, out), _wheel(rest, found.keys() - runtime, data - needed, out)]


def package_of(path: Path, found: Mapping[str, Path]) -> str:
    """Return the innermost package that a file lies in."""
    homes = {home.parent: name for name, home in found.items() if home.name == "__init__.py"}
    return next(homes[folder] for folder in path.parents if folder in homes)


def is_data(path: Path) -> bool:
    """Return whether a file is one that modules read, instead of a module or what Python makes of one."""
    return path.suffix not in (".py", ".pyc", ".pyi")


def _wheel(project: Mapping[str, object], names: Iterable[str], data: Iterable[Path], out: Path) -> Path:
    with tempfile.TemporaryDirectory() as folder:
        tree, made = Path(folder, "tree"), Path(folder, "made")
        copied(names, [*data, ROOT / "README.md", ROOT / "LICENSE"], tree)
        (tree / "pyproject.toml").write_text(settings(project, names))
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(made), str(tree)]
        subprocess.run(command, check=True, capture_output=True)
        (wheel,) = made.glob("*.whl")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, out))


def main() -> None:
    """Build the wheels and print where they are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the wheels")
    for path in build(parser.parse_args().out):
        print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()

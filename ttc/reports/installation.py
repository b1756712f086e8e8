"""Says which packages are installed for ttc, and whether they are those that it was made for."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from operator import eq, ge, gt, le, lt, ne

from ttc.dialects.core.records import record
from ttc.reports.examined import ERROR, OK, WARNING, Examined

WHOLE, RUNTIME = "ttc", "ttc-runtime"
"""The two distributions: the second is what running takes, and has the same package `ttc`."""
PYTHON = ">=3.11"
OPTIONAL: Mapping[str, tuple[str, str]] = {
    "torch": ("torch", "models of PyTorch, torch.compile, training over processes"),
    "tensorflow-cpu": ("tf", "models of TensorFlow and Keras"),
    "lightning": ("lightning", "ttc.lightning"),
    "onnxruntime": ("demo", "comparisons with onnxruntime"),
    "tokenizers": ("text", "texts for `ttc generate`"),
    "pillow": ("images", "images inside models"),
}
"""Packages that ttc can do without, each with the extra that installs it and what it is for."""
ALIASES = {"tensorflow-cpu": ("tensorflow-cpu", "tensorflow")}
"""Distributions that serve as another one."""
LOADED = ("numpy", "ml_dtypes", "llvmlite")
"""Packages that are loaded to see whether the system can."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*([^;\[]*)(?:\[[^\]]*\])?[^;]*(?:;(.*))?")
_CLAUSE = re.compile(r"(===|==|>=|<=|!=|~=|<|>)\s*([0-9][0-9a-zA-Z.*+!-]*)")
_COMPARED: Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {"==": eq, "!=": ne, ">=": ge, "<=": le, ">": gt, "<": lt}


@record
class Requirement:
    """A distribution that ttc can use.

    Args:
        wanted: versions, such as `>=2,<3`.
        optional: whether ttc does without it.
    """

    name: str
    wanted: str
    optional: bool


def examine_installation() -> Iterator[Examined]:
    """Yield what is to be said of Python, of ttc's own distributions, and of each package that it uses."""
    version = ".".join(map(str, sys.version_info[:3]))
    fits = version_fits(version, PYTHON)
    yield Examined("python", OK if fits else ERROR, version, None if fits else f"ttc needs Python {PYTHON}")
    installed = {found.metadata["Name"]: found for found in distributions() if found.metadata["Name"] in (WHOLE, RUNTIME)}
    yield examine_distributions(installed)
    texts = [text for found in installed.values() for text in found.requires or ()]
    for requirement in requirements(texts):
        yield examine_package(requirement)


def examine_distributions(installed: Mapping[str, Distribution]) -> Examined:
    """Return what is to be said of ttc's own distributions: two that both have the package `ttc` as a whole overwrite each other."""
    shown = ", ".join(f"{name} {found.version}" for name, found in sorted(installed.items()))
    whole, runtime = installed.get(WHOLE), installed.get(RUNTIME)
    if whole is None and runtime is None:
        return Examined("ttc", WARNING, "not installed: it is found by its path alone", "pip install -e . in the checkout")
    if whole is not None and runtime is not None and not needs_runtime(whole):
        return Examined("ttc", ERROR, f"{shown}: both have the package ttc", f"pip uninstall {RUNTIME}: this ttc has all of it")
    if whole is not None and runtime is None and needs_runtime(whole):
        message = f"{shown}, without {RUNTIME}, which has the half that runs"
        return Examined("ttc", ERROR, message, f"pip install {RUNTIME}=={whole.version}")
    if whole is not None and runtime is not None and whole.version != runtime.version:
        return Examined("ttc", ERROR, f"{shown}: their versions differ", f"pip install {RUNTIME}=={whole.version}")
    return Examined("ttc", OK, shown)


def needs_runtime(found: Distribution) -> bool:
    """Return whether a distribution is the published wheel, whose other half is `ttc-runtime`; a checkout, or what is built of one, has
    both.
    """
    return any(text.startswith(RUNTIME) for text in found.requires or ())


def requirements(texts: Iterable[str]) -> list[Requirement]:
    """Return the packages that ttc always needs, and those of extras in OPTIONAL, each once, from lines of a distribution's metadata."""
    found: dict[str, Requirement] = {}
    for text in texts:
        match = _REQUIREMENT.fullmatch(text)
        if match is None or match[1].lower() == RUNTIME:
            continue
        name, wanted, marker = match[1], match[2].strip().strip("()"), match[3] or ""
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", marker)
        if extra is None or (name in OPTIONAL and extra[1] == OPTIONAL[name][0]):
            found.setdefault(name, Requirement(name, wanted, extra is not None))
    return sorted(found.values(), key=lambda item: (item.optional, item.name.lower()))


def examine_package(requirement: Requirement) -> Examined:
    """Return whether a package is there, in a version that ttc was made for, and can be loaded."""
    name = requirement.name
    version = next((v for v in map(_version, ALIASES.get(name, (name,))) if v is not None), None)
    wanted = f"{name}{requirement.wanted}"
    if version is None:
        if not requirement.optional:
            return Examined(name, ERROR, "not installed", f"pip install '{wanted}'")
        extra, purpose = OPTIONAL[name]
        return Examined(name, OK, f"not installed; it is for {purpose}", f"pip install 'ttc[{extra}]'")
    if not version_fits(version, requirement.wanted):
        state = WARNING if requirement.optional else ERROR
        return Examined(name, state, f"{version}, and ttc is made for {requirement.wanted}", f"pip install '{wanted}'")
    if name in LOADED:
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever a broken package raises
            return Examined(
                name, ERROR, f"{version} cannot be loaded: {type(error).__name__}: {error}", f"pip install --force-reinstall '{wanted}'"
            )
    return Examined(name, OK, version)


def version_fits(version: str, wanted: str) -> bool:
    """Return whether a version is among those wanted: clauses such as `>=2,<3` and `==2.13.*`, of numbers alone."""
    return all(_fits(version, kind, text) for kind, text in _CLAUSE.findall(wanted))


def _fits(version: str, kind: str, text: str) -> bool:
    have, want = _numbers(version), _numbers(text)
    if kind == "~=":
        return have >= want and have[: len(want) - 1] == want[:-1]
    if text.endswith(".*"):
        return (have[: len(want)] == want) == (kind == "==")
    size = max(len(have), len(want))
    padded = tuple(numbers + (0,) * (size - len(numbers)) for numbers in (have, want))
    return _COMPARED[kind.replace("===", "==")](*padded)


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d{1,9}(?:\.\d{1,9})*", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def _version(name: str) -> str | None:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return None

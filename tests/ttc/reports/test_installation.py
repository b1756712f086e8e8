"""Packages and their versions, as `ttc doctor` sees them."""

from __future__ import annotations

from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest

from ttc.reports.installation import PYTHON, Requirement, examine_distributions, examine_package, requirements, version_fits

ROOT = Path(__file__).resolve().parents[3]
HALF = ("ttc", "0.1.0", "numpy", "ttc-runtime==0.1.0")
"""The published wheel."""


def installed(name: str, version: str, *requires: str) -> Distribution:
    text = "".join([f"Name: {name}\nVersion: {version}\n", *(f"Requires-Dist: {requirement}\n" for requirement in requires)])

    class Fake(Distribution):
        def read_text(self, filename: str) -> str | None:
            return text if filename == "METADATA" else None

        def locate_file(self, path: Any) -> Any:
            return Path("/nowhere") / path

    return Fake()


@pytest.mark.parametrize(
    ("found", "state", "said"),
    [
        ([("ttc", "0.1.0")], "ok", "ttc 0.1.0"),
        ([HALF, ("ttc-runtime", "0.1.0")], "ok", "ttc 0.1.0, ttc-runtime 0.1.0"),
        ([("ttc-runtime", "0.1.0")], "ok", "ttc-runtime 0.1.0"),
        ([("ttc", "0.1.0"), ("ttc-runtime", "0.1.0")], "error", "both have the package ttc"),
        ([HALF], "error", "without ttc-runtime"),
        ([HALF, ("ttc-runtime", "0.2.0")], "error", "their versions differ"),
        ([], "warning", "not installed"),
    ],
)
def test_distributions_of_ttc(found: list[tuple[str, ...]], state: str, said: str) -> None:
    row = examine_distributions({name: installed(name, *more) for name, *more in found})
    assert (row.state, said in row.detail, row.hint is None) == (state, True, state == "ok")


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        *(("2.13.0+cpu", "==2.13.*", True), ("2.12.9", "==2.13.*", False), ("2.1", "==2.13.*", False), ("1.5", "!=1.5.*", False)),
        *(("2.0", ">=2,<3", True), ("3.0", "<3,>=2", False), ("3.0rc1", "<3", False), ("1.26.4", ">=2", False), ("2", "==2.0.0", True)),
        *(("0.5.3", ">=0.5,<1", True), ("1.4.5", "~=1.4.2", True), ("1.5.0", "~=1.4.2", False), ("9", "", True)),
    ],
)
def test_versions(version: str, wanted: str, fits: bool) -> None:
    assert version_fits(version, wanted) is fits


def test_requirements_of_metadata() -> None:
    texts = [
        *("numpy<3,>=2", "onnx (>=1.17)", "ttc-runtime==0.1.0", 'torch==2.13.*; extra == "torch"', 'jax<0.11; extra == "peers"'),
        *('torch==2.13.*; python_version == "3.11" and extra == "peers"', 'pillow<14,>=11; extra == "images"', "???"),
    ]
    assert requirements(texts) == [
        Requirement("numpy", "<3,>=2", optional=False),
        Requirement("onnx", ">=1.17", optional=False),
        Requirement("pillow", "<14,>=11", optional=True),
        Requirement("torch", "==2.13.*", optional=True),
    ]


@pytest.mark.parametrize(
    ("requirement", "state", "said", "hint"),
    [
        (Requirement("numpy", ">=2", optional=False), "ok", "2.", None),
        (Requirement("numpy", ">=99", optional=False), "error", "made for >=99", "pip install 'numpy>=99'"),
        (Requirement("pytest", ">=99", optional=True), "warning", "made for >=99", "pip install 'pytest>=99'"),
        (Requirement("no-such-thing", ">=1", optional=False), "error", "not installed", "pip install 'no-such-thing>=1'"),
    ],
)
def test_packages(requirement: Requirement, state: str, said: str, hint: str | None) -> None:
    found = examine_package(requirement)
    assert (found.state, said in found.detail, found.hint) == (state, True, hint)


def test_an_optional_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttc.reports.installation._version", lambda name: None)
    found = examine_package(Requirement("torch", "==2.13.*", optional=True))
    assert (found.state, found.hint) == ("ok", "pip install 'ttc[torch]'")
    assert "models of PyTorch" in found.detail


def test_a_package_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        raise OSError("libLLVM.so: cannot open")

    monkeypatch.setattr("ttc.reports.installation.importlib.import_module", broken)
    found = examine_package(Requirement("llvmlite", "", optional=False))
    assert found.state == "error"
    assert "libLLVM.so: cannot open" in found.detail


def test_the_range_of_python_is_the_projects() -> None:
    assert f'requires-python = "{PYTHON}"' in (ROOT / "pyproject.toml").read_text()

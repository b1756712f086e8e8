"""Which machines are supported."""

from __future__ import annotations

import platform

import pytest

from ttc.cli import main
from ttc.dialects.core.errors import Error
from ttc.process.platform import require_supported


def test_linux_on_x86_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert main(["compile", "no-such-model.onnx", "-o", "m.tti"]) == 2
    assert capsys.readouterr().err.startswith("error[E0102]")


@pytest.mark.parametrize(("system", "machine"), [("Darwin", "arm64"), ("Linux", "aarch64"), ("Windows", "AMD64")])
def test_elsewhere(system: str, machine: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(Error, match=f"ttc does not run on {system} {machine}") as caught:
        require_supported()
    assert caught.value.code == "E0104"
    assert main(["compile", "m.onnx", "-o", "m.tti"]) == 2
    assert capsys.readouterr().err.startswith("error[E0104]")

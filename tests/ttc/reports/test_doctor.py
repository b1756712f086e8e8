"""What `ttc doctor` finds on this machine, and on worse ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ttc.reports import doctor
from ttc.reports.doctor import LOOKS, examine
from ttc.reports.examined import Examined


def rows(**variables: str) -> dict[str, Examined]:
    """What the doctor says with these variables beside those of the process, by name."""
    return {row.name: row for row in examine({**os.environ, **variables})}


def test_this_machine_is_well() -> None:
    found = rows()
    assert [row for row in found.values() if row.state == "error"] == []
    names = {"python", "ttc", "numpy", "llvmlite", "platform", "cpu", "cores", "memory", "shared memory", "kernel cache", "devices"}
    assert names <= set(found)
    assert found["cores"].detail.split()[0].isdecimal()
    assert "nothing is locked" in found["devices"].detail


@pytest.mark.parametrize(
    ("name", "text", "row", "state", "said"),
    [
        ("TTC_PORT", "tcp://1", "variables", "warning", "TTC_PORT"),
        ("TTC_TARGT", "host", "variables", "warning", "did you mean 'TTC_TARGET'?"),
        ("TTC_THREADS", "-1", "TTC_THREADS", "error", "TTC_THREADS cannot be '-1'"),
        ("TTC_THREADS", "1", "TTC_THREADS", "ok", "1"),
        ("TTC_CPU", "sse", "cpu", "error", "TTC_CPU cannot be 'sse'"),
        ("TTC_CPU", "generic", "cpu", "ok", "as TTC_CPU says"),
        ("TTC_VISIBLE_DEVICES", "1-0", "devices", "error", "no devices 1-0"),
        ("TTC_VISIBLE_DEVICES", "", "devices", "error", "is empty"),
        ("TTC_PROFILE", "/none/trace.json", "profile", "error", "no folder /none"),
        ("TTC_PROFILE", "trace.json", "profile", "ok", "trace.json"),
        ("TTC_CACHE_DIR", "/proc/none", "kernel cache", "warning", "/proc/none"),
    ],
)
def test_variables(name: str, text: str, row: str, state: str, said: str) -> None:
    found = rows(**{name: text})[row]
    assert (found.state, said in found.detail) == (state, True), found
    assert found.state == "ok" or found.hint or name == "TTC_PROFILE"


def test_devices_and_who_holds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTC_VISIBLE_DEVICES", "3,1")
    monkeypatch.setenv("TTC_TENANT", "me")
    from ttc.runtime import devices

    monkeypatch.setattr(devices, "_TAKEN", {})
    monkeypatch.setattr(devices, "LOCKS", tmp_path)
    devices.require_device(1)
    mine, theirs = rows(), rows(TTC_TENANT="you")
    os.close(devices._TAKEN[1])
    after = rows()
    assert mine["device 0"].detail == "device 3 of the machine, free"
    assert mine["device 1"].detail == f"device 1 of the machine, taken by process {os.getpid()} of this tenant"
    assert theirs["device 1"].state == "warning"
    assert f"in use by process {os.getpid()}" in theirs["device 1"].detail
    assert after["device 1"].detail == "device 1 of the machine, free"


def test_little_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "memory_bytes", lambda: 1 << 30)
    monkeypatch.setattr(doctor, "_SHARED", tmp_path / "none")
    found = rows()
    assert (found["memory"].state, found["memory"].detail.split(",")[0]) == ("warning", "1.1 GB")
    assert found["shared memory"].state == "warning"


def test_every_look_has_a_name_of_its_own() -> None:
    names = [look.__name__ for look in LOOKS]
    assert len(set(names)) == len(names)
    assert all(name.startswith("_") for name in names)

"""Devices that a process sees, and that no two tenants have one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime import devices
from ttc.runtime.devices import MAX_DEVICES, Holder, devices_of_replicas, holder_of, lock_folder, own_device, visible_devices

LOCKED = """
import os, pathlib
from ttc.runtime import devices
devices.LOCKS = pathlib.Path(os.environ["LOCKS"])
"""
TENANT = """
import sys
from ttc.dialects.core.errors import Error
from ttc.runtime.devices import require_device
try:
    for number in map(int, sys.argv[1:]):
        require_device(number)
except Error as error:
    print(error.code, error.message, flush=True)
else:
    print("taken", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCKS", str(tmp_path))
    monkeypatch.setattr(devices, "LOCKS", tmp_path)
    return tmp_path / f"ttc-{os.geteuid()}"


class Tenants:
    """Processes that take devices and keep them until they are told to end."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, visible: str, *numbers: int, **variables: str) -> tuple[subprocess.Popen[str], str]:
        environment = {**os.environ, "TTC_VISIBLE_DEVICES": visible, **variables}
        command = [sys.executable, "-c", LOCKED + TENANT, *map(str, numbers)]
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()


@pytest.fixture
def tenants() -> Iterator[Tenants]:
    found = Tenants()
    yield found
    for process in found.processes:
        process.kill()
        process.communicate(timeout=20)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0-2,5", (0, 1, 2, 5)), ("3", (3,)), ("5, 1-2 ,", (5, 1, 2)), ("", ()), (" ", ()), (f"{MAX_DEVICES - 1}", (MAX_DEVICES - 1,))],
)
def test_lists_and_ranges(text: str, expected: tuple[int, ...]) -> None:
    assert visible_devices({"TTC_VISIBLE_DEVICES": text}) == expected
    assert visible_devices({}) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [("a", "'a' is no device"), ("1-", "no device"), ("-1", "no device"), ("1;2", "no device"), ("1.5", "no device")]
    + [
        ("2-1", "no devices 2-1"),
        (f"{MAX_DEVICES}", "no devices"),
        ("0-999999999", "no devices"),
        ("0,1,0-1", "device 0 twice"),
        ("٣", "no device"),
    ],
)
def test_bad_lists(text: str, said: str) -> None:
    with pytest.raises(Error, match=said) as caught:
        visible_devices({"TTC_VISIBLE_DEVICES": text})
    assert caught.value.code == "E0101"


def test_the_local_rank_says_which_device() -> None:
    assert [own_device({"LOCAL_RANK": "2"}), own_device({})] == [2, 0]


@pytest.mark.parametrize("text", ["x", "-1", "", "1000000000", "٣"])
def test_a_local_rank_that_is_no_number(text: str) -> None:
    with pytest.raises(Error, match="is no number of a device") as caught:
        own_device({"LOCAL_RANK": text})
    assert caught.value.code == "E0101"


def test_replicas_have_a_device_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TTC_VISIBLE_DEVICES", raising=False)
    assert devices_of_replicas(3) == [None, None, None]
    monkeypatch.setenv("TTC_VISIBLE_DEVICES", "4-7")
    assert (devices_of_replicas(1), devices_of_replicas(4)) == ([None], [0, 1, 2, 3])
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert devices_of_replicas(2) == [2, 3]
    with pytest.raises(Error, match="128 replicas take 128 devices, and there are 2: 6, 7") as caught:
        devices_of_replicas(128)
    assert caught.value.code == "E0104"


def test_two_tenants_share_no_device(tenants: Tenants) -> None:
    first, said = tenants.start("4-5", 0, 1)
    assert said == "taken"
    assert tenants.start("0,5", 0)[1] == "taken"
    assert tenants.start("0,5", 1)[1] == f"E0104 device 5 is in use by process {first.pid}"
    held = holder_of(5)
    assert held is not None
    assert held.pid == first.pid
    assert holder_of(3) is None


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_device_is_free_when_its_process_has_ended(tenants: Tenants, how: int) -> None:
    first, said = tenants.start("7", 0)
    assert said == "taken"
    first.send_signal(how)
    first.wait(timeout=20)
    assert holder_of(7) is None
    assert tenants.start("7", 0)[1] == "taken"


def test_processes_of_a_tenant_share(tenants: Tenants) -> None:
    assert tenants.start("1", 0, TTC_TENANT="me")[1] == "taken"
    assert tenants.start("1", 0, TTC_TENANT="me")[1] == "taken"
    assert tenants.start("1", 0, TTC_TENANT="you")[1].startswith("E0104 device 1 is in use")
    assert holder_of(1) == Holder(tenants.processes[0].pid, "me")


def test_a_device_is_held_until_the_last_process_of_a_tenant_ends(tenants: Tenants) -> None:
    first, second = (tenants.start("1", 0, TTC_TENANT="me") for _ in range(2))
    assert [first[1], second[1]] == ["taken", "taken"]
    first[0].kill()
    first[0].wait(timeout=20)
    assert tenants.start("1", 0, TTC_TENANT="you")[1].startswith("E0104 device 1 is in use")
    second[0].kill()
    second[0].wait(timeout=20)
    assert tenants.start("1", 0, TTC_TENANT="you")[1] == "taken"


def test_what_is_not_visible(tenants: Tenants) -> None:
    assert tenants.start("3,4", 2)[1] == "E0104 there is no device 2: 2 devices are visible by TTC_VISIBLE_DEVICES=3,4"
    assert tenants.start("", 0)[1] == "E0104 there is no device 0: 0 devices are visible by TTC_VISIBLE_DEVICES="


def test_a_folder_of_others_is_not_used(tenants: Tenants, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert "is no folder of this user alone" in tenants.start("1", 0)[1]
    assert lock_folder() == folder


def process(code: str, *arguments: str, visible: str) -> Any:
    environment = {**os.environ, "TTC_VISIBLE_DEVICES": visible}
    command = [sys.executable, "-c", LOCKED + code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_sessions_of_archives_take_devices(small_onnx: Path, tmp_path: Path, tenants: Tenants) -> None:
    import ttc

    ttc.compile(small_onnx, target="host", batch=2).save(tmp_path / "a.tti")
    first, said = tenants.start("2", 0)
    assert said == "taken"
    command = ("import sys; from ttc.cli.app import main; sys.exit(main(sys.argv[1:]))", "run", str(tmp_path / "a.tti"), "--random")
    done = process(*command, visible="2")
    assert done.returncode == 2
    assert f"error[E0104]: device 2 is in use by process {first.pid}" in done.stderr
    assert process(*command, visible="1,2").returncode == 0


STAGE = """
import torch, ttc
from ttc.runtime import devices
with ttc.Pipeline([(ttc.Device(f"host:{number}"), torch.nn.Linear(2, 2))]) as pipeline:
    pipeline.push(torch.ones(1, 2))
    pipeline.run_inference().get()
print(sorted(devices._TAKEN))
"""


def test_stages_take_the_devices_that_they_name_alone(tenants: Tenants) -> None:
    pytest.importorskip("torch", reason="stages are modules of PyTorch")
    assert tenants.start("2", 0)[1] == "taken"
    assert process(f"number = 1{STAGE}", visible="2,4").stdout.strip() == "[4]"
    assert "device 2 is in use" in process(f"number = 1{STAGE}", visible="1,2").stderr

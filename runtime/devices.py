"""Which devices this process may use, and locks so that no other tenant uses them meanwhile.

TTC_VISIBLE_DEVICES lists devices of the machine: "0-2,5".  The process numbers them from 0 on in that order, and takes one when a session
begins on it: a lock on a file in a folder of the user's, which the system frees when the process ends, however it does.  A tenant is a
process with those that it starts: they share its devices.  Without the variable nothing is limited or locked.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

VARIABLE = "TTC_VISIBLE_DEVICES"
TENANT = "TTC_TENANT"
"""The variable by which processes know that they are of one tenant; ttc sets it."""
LOCKS = Path("/tmp")
"""Where each user's folder of locks lies."""
MAX_DEVICES = 1024
"""The number below which all numbers of devices of a machine must be."""
_ITEM = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_HEAD_BYTES = 256
"""Bytes of a lock's file that are read: the number of a process, and its tenant."""


@record
class Holder:
    """The tenant that has a device.

    Args:
        pid: of the process that took it.
        tenant: that it belongs to.
    """

    pid: int
    tenant: str


def visible_devices(environ: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the devices of the machine that the variable lists, in the order of the process's own numbers; None where it is not set.

    Raises E0101 for what is no list of numbers and ranges, for a number twice, and for one from MAX_DEVICES on.
    """
    text = environ.get(VARIABLE)
    if text is None:
        return None
    found: dict[int, None] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise Error(
                "E0101", f"{VARIABLE}={text[:80]}: '{item[:40]}' is no device", hint="numbers and ranges with commas between: 0-2,5"
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last >= MAX_DEVICES:
            raise Error("E0101", f"{VARIABLE}: there are no devices {item}", hint=f"ranges go up, to {MAX_DEVICES - 1} at most")
        devices = range(first, last + 1)
        twice = next((device for device in devices if device in found), None)
        if twice is not None:
            raise Error("E0101", f"{VARIABLE} lists device {twice} twice")
        found |= dict.fromkeys(devices)
    return tuple(found)


def own_device(environ: Mapping[str, str]) -> int:
    """Return the device, by the process's own numbers, that a session begins on where nothing names one: the local rank's.

    Raises E0101 for a LOCAL_RANK that is no number.
    """
    text = environ.get("LOCAL_RANK", "0")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Error("E0101", f"LOCAL_RANK={text[:40]} is no number of a device", hint="unset it, or give a number from 0 on")
    return int(text)


def device_of_machine(number: int | None = None) -> int | None:
    """Return the machine's number of a device of this process; None where the variable is not set.

    Args:   number: the process's own; None: that of its local rank.
    Raises: E0101 for a variable that is no list, E0104 where the device is not visible.
    """
    visible = visible_devices(os.environ)
    if visible is None:
        return None
    os.environ.setdefault(TENANT, os.urandom(16).hex())  # processes that this one starts are of its tenant
    wanted = own_device(os.environ) if number is None else number
    if wanted < len(visible):
        return visible[wanted]
    there = f"{len(visible)} devices are" if len(visible) != 1 else "1 device is"
    message = f"there is no device {wanted}: {there} visible by {VARIABLE}={os.environ[VARIABLE][:80]}"
    raise Error("E0104", message, hint=f"list more devices in {VARIABLE}, or ask for fewer")


def devices_of_replicas(count: int) -> list[int | None]:
    """Return a device for each replica of a model, by the process's own numbers; None for each where nothing is limited, or there is one.

    Raises: as `device_of_machine`; E0104 for more replicas than there are devices from that of the local rank on.
    """
    visible = visible_devices(os.environ)
    if visible is None or count == 1:
        return [None] * count
    first = own_device(os.environ)
    if first + count <= len(visible):
        return [first + number for number in range(count)]
    there = ", ".join(map(str, visible[first:])) or "none"
    message = f"{count} replicas take {count} devices, and there are {max(len(visible) - first, 0)}: {there}"
    raise Error("E0104", message, hint=f"ask for fewer replicas, or list more devices in {VARIABLE}")


def require_device(number: int | None = None) -> None:
    """Take a device for this process and the rest of its life, if the variable is set.

    Args:   number: the process's own; None: that of its local rank.
    Raises: as `device_of_machine`; E0104 where another tenant has it.
    """
    device = device_of_machine(number)
    if device is None:
        return
    with _LOCK:
        if device not in _TAKEN:
            _TAKEN[device] = _taken(device)


def holder_of(device: int) -> Holder | None:
    """Return who has a device of the machine, as far as this user's processes are concerned; None if nobody has."""
    path = lock_folder() / f"device-{device}"
    try:
        inode = path.stat().st_ino
        locked = any(line.split()[5].endswith(f":{inode}") for line in Path("/proc/locks").read_text().splitlines() if " FLOCK " in line)
        return _holder(path.read_bytes()[:_HEAD_BYTES]) if locked else None
    except (OSError, IndexError):
        return None


def lock_folder() -> Path:
    """Return the folder of the locks, which is the same for all processes of a user, whatever their variables."""
    return LOCKS / f"ttc-{os.geteuid()}"


def _taken(device: int) -> int:
    """Return a descriptor of the locked file of a device: all processes of a tenant hold the lock together.  Raises E0104."""
    tenant = os.environ[TENANT]
    path = _usable(lock_folder()) / f"device-{device}"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise Error("E0104", f"device {device} cannot be locked: {path}: {error.strerror}") from None
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody has it: this tenant does now
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {tenant}\n".encode(), 0)
    is_held = True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:  # another one is just taking it
        is_held = False
    holder = _holder(os.pread(descriptor, _HEAD_BYTES, 0))
    if is_held and holder is not None and holder.tenant == tenant:
        return descriptor
    os.close(descriptor)
    who = "another process" if holder is None else f"process {holder.pid}"
    raise Error("E0104", f"device {device} is in use by {who}", hint=f"wait for its end, or list other devices in {VARIABLE}")


def _holder(head: bytes) -> Holder | None:
    words = head.decode("ascii", "replace").split()
    return Holder(int(words[0]), words[1]) if len(words) == 2 and words[0].isdecimal() else None


def _usable(folder: Path) -> Path:
    """Return the folder, made if it is missing.  Raises E0104 unless it is a folder of this user alone."""
    with suppress(OSError):
        folder.mkdir(mode=0o700)
    try:
        found = folder.lstat()
    except OSError as error:
        raise Error("E0104", f"devices cannot be locked: {folder}: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise Error("E0104", f"devices cannot be locked: {folder} is no folder of this user alone")
    return folder


_TAKEN: dict[int, int] = {}
"""Descriptors of the locks that this process holds, by device."""
_LOCK = Lock()


def _after_fork() -> None:
    """In a child, which has the locks of its parent with it."""
    global _LOCK
    _LOCK = Lock()


os.register_at_fork(after_in_child=_after_fork)

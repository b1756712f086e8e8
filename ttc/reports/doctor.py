"""Says what ttc finds on this machine, and why something does not work here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ttc.dialects.core.errors import Error, passed_over
from ttc.options import KINDS
from ttc.process.platform import require_supported
from ttc.profiler.variable import path_of_process
from ttc.reports.examined import ERROR, OK, WARNING, Examined
from ttc.reports.installation import examine_installation
from ttc.runtime.atomic_file import check_replaceable
from ttc.runtime.cpu import available_cores
from ttc.runtime.devices import VARIABLE, holder_of, lock_folder, visible_devices
from ttc.runtime.engines.native.codegen.cache import Cache, cache_folder
from ttc.runtime.engines.native.codegen.features import LEVELS, allowed_cpu, host_cpu
from ttc.runtime.engines.room import memory_bytes
from ttc.settings.records import OWN_VARIABLES, PREFIX, read, settings, variable_of

LEAST_MEMORY_BYTES = 2 << 30
"""The memory with which compiling a common model has room."""
LEAST_SHARED_BYTES = 64 << 20
"""The shared memory with which pipelines and data loaders in processes of their own have room."""
_SHARED = Path("/dev/shm")


def examine(environ: Mapping[str, str]) -> list[Examined]:
    """Return all that was looked at, in the order in which it is shown.  environ: variables of the process."""
    found = list(examine_installation())
    for look in LOOKS:
        try:
            found += look(environ)
        except Error as error:
            found.append(Examined(look.__name__.removeprefix("_").replace("_", " "), ERROR, error.message, error.hint))
    return found


def _platform(environ: Mapping[str, str]) -> Iterator[Examined]:
    require_supported()
    yield Examined("platform", OK, f"{os.uname().sysname} {os.uname().release} {os.uname().machine}")


def _cpu(environ: Mapping[str, str]) -> Iterator[Examined]:
    cpu, allowed = host_cpu(), allowed_cpu(environ)
    levels = [name for name in LEVELS if cpu.limited_to(name) == cpu]
    best = levels[-1] if levels else "generic"
    if best == "generic":
        yield Examined("cpu", WARNING, f"{cpu.arch} without AVX2: kernels are slow", "take a CPU with AVX2")
    elif allowed != cpu:
        yield Examined("cpu", OK, f"{cpu.arch}, {best}; kernels use {environ['TTC_CPU']}, as TTC_CPU says")
    else:
        yield Examined("cpu", OK, f"{cpu.arch}, {best}")


def _cores(environ: Mapping[str, str]) -> Iterator[Examined]:
    usable, there = available_cores(), os.cpu_count() or 1
    detail = f"{usable} of {there}, by affinity and the control group" if usable < there else str(there)
    yield Examined("cores", OK, detail)


def _memory(environ: Mapping[str, str]) -> Iterator[Examined]:
    size = memory_bytes()
    text = f"{size / 1e9:.1f} GB, by memory, swap, ulimit -v and the control group"
    few = size < LEAST_MEMORY_BYTES
    yield Examined("memory", WARNING if few else OK, text, "large models do not fit: raise the limit" if few else None)


def _shared_memory(environ: Mapping[str, str]) -> Iterator[Examined]:
    if not _SHARED.is_dir() or not os.access(_SHARED, os.W_OK):
        yield Examined(
            "shared memory", WARNING, f"{_SHARED} cannot be written", "processes of pipelines and data loaders need it: mount it"
        )
        return
    free = shutil.disk_usage(_SHARED).free
    few = free < LEAST_SHARED_BYTES
    hint = "processes of pipelines and data loaders need more: docker run --shm-size=1g" if few else None
    yield Examined("shared memory", WARNING if few else OK, f"{free / 1e6:,.0f} MB free in {_SHARED}", hint)


def _kernel_cache(environ: Mapping[str, str]) -> Iterator[Examined]:
    cache = Cache(cache_folder(environ))
    reason = cache.reason
    if reason is None and cache.folder is not None and not os.access(cache.folder, os.W_OK):
        reason = f"{cache.folder}: it cannot be written"
    cache.close()
    if reason is None:
        yield Examined("kernel cache", OK, str(cache.folder))
    else:
        yield Examined("kernel cache", WARNING, f"kernels are compiled in each process: {reason}", "name a folder in TTC_CACHE_DIR")


def _devices(environ: Mapping[str, str]) -> Iterator[Examined]:
    visible = visible_devices(environ)
    if visible is None:
        yield Examined("devices", OK, f"all: {VARIABLE} is not set, and nothing is locked")
        return
    if not visible:
        yield Examined("devices", ERROR, f"none: {VARIABLE} is empty", f"list some, or unset {VARIABLE}")
    for number, device in enumerate(visible):
        holder = holder_of(device)
        name = f"device {number}"
        if holder is None:
            yield Examined(name, OK, f"device {device} of the machine, free")
        elif holder.tenant == environ.get("TTC_TENANT"):
            yield Examined(name, OK, f"device {device} of the machine, taken by process {holder.pid} of this tenant")
        else:
            told = f"device {device} of the machine is in use by process {holder.pid} ({lock_folder()})"
            yield Examined(name, WARNING, told, f"wait for its end, or list other devices in {VARIABLE}")


def _variables(environ: Mapping[str, str]) -> Iterator[Examined]:
    ours = {name: text for name, text in environ.items() if name.startswith(PREFIX)}
    kinds = {variable_of(item.name): (item.name, setting) for kind in KINDS for item, setting in settings(kind)}
    known = {*OWN_VARIABLES, *kinds}
    foreign = sorted(set(ours) - known)
    if foreign:
        yield Examined(
            "variables", WARNING, f"passed over: {passed_over(foreign, known, PREFIX)}", "unset them, unless they are another program's"
        )
    for name in sorted(set(ours) & set(kinds)):
        try:
            read(*kinds[name], ours[name], name)
        except Error as error:
            yield Examined(name, ERROR, error.message, error.hint)
        else:
            yield Examined(name, OK, ours[name])


def _profile(environ: Mapping[str, str]) -> Iterator[Examined]:
    path = path_of_process(environ)
    if path is not None:
        check_replaceable(path)
        yield Examined("profile", OK, f"processes write {path}")


LOOKS: tuple[Callable[[Mapping[str, str]], Iterator[Examined]], ...] = (
    *(_platform, _cpu, _cores, _memory, _shared_memory, _kernel_cache, _devices, _profile, _variables),
)
"""The functions that look at things beside packages, by name; one that raises is an error of that name."""

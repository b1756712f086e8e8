"""What instructions the CPU has, under LLVM's names, without asking LLVM.

    cpu = allowed_cpu(os.environ)              # Cpu(arch="x86-64", features=frozenset({"avx2", "fma", ...}))
    cpu.has("fma"), cpu.vector_bytes, cpu.key
    host_cpu().limited_to("avx2"), host_cpu().without("avx512bf16")

Code is chosen by feature, never by the name of a CPU: LLVM takes new CPUs for old ones, and guests see a part of what their host has.
Source: Linux, Documentation/arch/x86/cpuinfo.rst (a flag is listed only where the kernel lets programs use it); LLVM, X86.td and
AArch64Features.td.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.records import record

VARIABLE = "TTC_CPU"
"""The variable of the environment that names the level that code is limited to."""
LEVELS: Mapping[str, tuple[str, ...]] = {
    "amx": (),
    "avx512": ("amx-tile",),
    "avx2": ("avx512f",),
    "generic": ("sse3", "fullfp16", "dotprod", "bf16", "i8mm"),
}
"""Levels of `Cpu.limited_to`, and the features that each takes away, with all that need them."""

_CPUINFO = Path("/proc/cpuinfo")
_CPUINFO_BYTES = 1 << 16
"""More than the text of one core: all cores of a machine offer a program the same."""

_ARCHITECTURES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64"}

# (flag of Linux, feature of LLVM, what it needs)
_X86 = (
    ("pni", "sse3", ()),
    ("ssse3", "ssse3", ("sse3",)),
    ("sse4_1", "sse4.1", ("ssse3",)),
    ("sse4_2", "sse4.2", ("sse4.1",)),
    ("popcnt", "popcnt", ("sse3",)),
    ("abm", "lzcnt", ("sse3",)),
    ("movbe", "movbe", ("sse3",)),
    ("bmi1", "bmi", ("sse3",)),
    ("bmi2", "bmi2", ("sse3",)),
    ("avx", "avx", ("sse4.2",)),
    ("f16c", "f16c", ("avx",)),
    ("fma", "fma", ("avx",)),
    ("avx2", "avx2", ("avx",)),
    ("avx_vnni", "avxvnni", ("avx2",)),
    ("avx512f", "avx512f", ("avx2", "f16c", "fma")),
    ("avx512cd", "avx512cd", ("avx512f",)),
    ("avx512bw", "avx512bw", ("avx512f",)),
    ("avx512dq", "avx512dq", ("avx512f",)),
    ("avx512vl", "avx512vl", ("avx512f",)),
    ("avx512ifma", "avx512ifma", ("avx512f",)),
    ("avx512vbmi", "avx512vbmi", ("avx512bw",)),
    ("avx512_vbmi2", "avx512vbmi2", ("avx512bw",)),
    ("avx512_vnni", "avx512vnni", ("avx512f",)),
    ("avx512_bitalg", "avx512bitalg", ("avx512bw",)),
    ("avx512_vpopcntdq", "avx512vpopcntdq", ("avx512f",)),
    ("avx512_bf16", "avx512bf16", ("avx512bw",)),
    ("avx512_fp16", "avx512fp16", ("avx512bw", "avx512dq", "avx512vl")),
    ("amx_tile", "amx-tile", ()),
    ("amx_bf16", "amx-bf16", ("amx-tile",)),
    ("amx_int8", "amx-int8", ("amx-tile",)),
)
_ARM = (
    ("asimd", "neon", ()),
    ("asimdhp", "fullfp16", ("neon",)),
    ("asimddp", "dotprod", ("neon",)),
    ("bf16", "bf16", ("neon",)),
    ("i8mm", "i8mm", ("neon",)),
)
_ROWS = {"x86-64": _X86, "aarch64": _ARM}
_NEEDS = {feature: needs for rows in _ROWS.values() for _, feature, needs in rows}

_WIDE = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
"""What generated code takes for granted where vectors have 64 bytes."""

EMULATED_TILES = "amx-emulated"
"""A feature that no CPU has: tiles of AMX as loops over memory (`ir.tiles`), for tests."""

_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA = 158, 0x1023, 18


@record
class Cpu:
    """What code may be generated for.

    Args:
        arch: `x86-64`, `aarch64`, or another machine under the kernel's name, of which nothing more is known.
        features: names of LLVM; with each, all that it needs.
    """

    arch: str
    features: frozenset[str]

    @property
    def vector_bytes(self) -> int:
        """The bytes of the widest vectors worth using: 64, 32 or 16."""
        if self.has(*_WIDE):
            return 64
        return 32 if self.has("avx2", "fma") else 16

    @property
    def has_tiles(self) -> bool:
        """Whether kernels may multiply bfloat16 in tiles."""
        return self.has("amx-bf16") or self.has(EMULATED_TILES)

    @property
    def has_byte_tiles(self) -> bool:
        """Whether kernels may multiply bytes in tiles."""
        return self.has("amx-int8") or self.has(EMULATED_TILES)

    @property
    def multiplies_pairs(self) -> bool:
        """Whether the CPU multiplies pairs of bfloat16, in vectors or in tiles."""
        return self.has_tiles or (self.has("avx512bf16") and self.vector_bytes == 64)

    @property
    def key(self) -> str:
        """A text that names the architecture and all features: the same for equal CPUs."""
        return "+".join((self.arch, *sorted(self.features)))

    @property
    def llvm_features(self) -> str:
        """The feature string of a target machine: all that there is, and all others that are known explicitly not."""
        known = sorted(feature for _, feature, _ in _ROWS.get(self.arch, ()))
        marked = [("+" if feature in self.features else "-") + feature for feature in known]
        return ",".join([*marked, "-prefer-256-bit"] if self.arch == "x86-64" else marked)

    def has(self, *names: str) -> bool:
        """Return whether all of these features are there."""
        return self.features.issuperset(names)

    def without(self, *names: str) -> Cpu:
        """Return this CPU without these features and those that need them."""
        left = self.features.difference(names)
        return Cpu(self.arch, _closed(left))

    def limited_to(self, level: str) -> Cpu:
        """Return this CPU with at most the instructions of a level.

        Args:    level: one of LEVELS: `amx`, all there is; `avx512`, no AMX; `avx2`, neither; `generic`, what every CPU of the
                 architecture has.  A level above what the CPU has takes nothing away.
        Raises:  E0101 for another word.
        """
        if level not in LEVELS:
            raise Error("E0101", f"there is no level of instructions '{level}'", hint=nearest(level, LEVELS))
        if level == "amx":
            return self
        return self.without(*(name for names in list(LEVELS.values())[: list(LEVELS).index(level) + 1] for name in names))


def _closed(features: frozenset[str]) -> frozenset[str]:
    """Return those features whose needs are met."""
    while True:
        met = frozenset(feature for feature in features if features.issuperset(_NEEDS.get(feature, ())))
        if met == features:
            return met
        features = met


@cache
def host_cpu() -> Cpu:
    """Return the CPU of this process."""
    arch = _ARCHITECTURES.get(os.uname().machine.lower(), os.uname().machine)
    try:
        with open(_CPUINFO, "rb") as file:
            text = file.read(_CPUINFO_BYTES)
    except OSError:
        text = b""
    return cpu_of(arch, text.decode("ascii", "replace"))


def allowed_cpu(environ: Mapping[str, str]) -> Cpu:
    """Return the CPU of this process, limited to the level that variable TTC_CPU names, if it is set.  Raises E0101 for another word."""
    level = environ.get(VARIABLE, "")
    if level and level not in LEVELS:
        raise Error("E0101", f"{VARIABLE} cannot be '{level}'", hint=f"it takes one of {', '.join(LEVELS)}")
    return host_cpu().limited_to(level) if level else host_cpu()


def cpu_of(arch: str, cpuinfo: str) -> Cpu:
    """Return the CPU that the text of /proc/cpuinfo tells of: that of its first core; one without features where flags are not listed."""
    label = "Features" if arch == "aarch64" else "flags"
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    flags = next((set(value.split()) for name, _, value in lines if name.strip() == label), set[str]())
    return Cpu(arch, _closed(frozenset(feature for flag, feature, _ in _ROWS.get(arch, ()) if flag in flags)))


@cache
def permit_amx() -> bool:
    """Ask the kernel, once a process, for the right of all its threads to use AMX tiles; returns whether it is granted.

    Source: Linux, Documentation/arch/x86/xstate.rst.
    """
    if not host_cpu().has("amx-tile"):
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA) == 0

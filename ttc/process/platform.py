"""Which machines ttc runs on."""

from __future__ import annotations

import platform

from ttc.dialects.core.errors import Error


def require_supported() -> None:
    """Raises E0104 anywhere but on Linux x86-64, the one platform that is tested."""
    system, machine = platform.system(), platform.machine()
    if (system, machine.lower()) not in (("Linux", "x86_64"), ("Linux", "amd64")):
        raise Error("E0104", f"ttc does not run on {system or 'this system'} {machine}", hint="it runs on Linux x86-64")

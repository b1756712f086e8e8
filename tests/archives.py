"""Archives of one program against each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ttc.runtime.archive import open_archive
from ttc.runtime.manifest import Manifest


def run_alike(path: Path) -> Manifest:
    """Return the manifest of an archive, with the hashes of all that runs: two with equal ones differ at most in texts for exports."""
    manifest = open_archive(path).manifest
    return replace(manifest, members={name: member for name, member in manifest.members.items() if not name.startswith("debug/")})

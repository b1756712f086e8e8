"""`make site`: builds the documentation as a site, in strict mode, and proves that it asks no server for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from view_pages import write_pages

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
_LOADED = re.compile(
    r"<(?:script|img|iframe|source|audio|video|embed)\b[^>]*?\ssrc=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b(?![^>]*rel=[\"']?(?:canonical|prev|next|edit))[^>]*?\shref=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"'\s)]+)",
    re.IGNORECASE,
)
"""What a browser would fetch by itself from another place."""


def outside(text: str) -> list[str]:
    """Return addresses that a page or style sheet makes a browser load from a server; links that a reader may follow are none of them."""
    return [next(filter(None, found)) for found in _LOADED.findall(text)]


def loaded_from_outside(site: Path) -> Iterator[str]:
    """Return `file: address` for every address that files of a site load from a server."""
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        yield from (f"{path.relative_to(site)}: {address}" for address in outside(path.read_text(encoding="utf-8")))


def main() -> int:
    """Build the site; returns the exit status."""
    write_pages()
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--clean", "--site-dir", str(SITE)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # a notice of the theme about versions to come
    status = subprocess.run(command, cwd=ROOT, env=quiet, check=False).returncode
    if status:
        return status
    found = list(loaded_from_outside(SITE))
    for line in found:
        print(f"loads from a server: {line}", file=sys.stderr)
    print(f"{len(list(SITE.rglob('*.html')))} pages: {SITE / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""The page of `ttc view`: one HTML file that holds its script, its style and its document, and asks nothing of any server."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ttc.view.document import as_json

ASSETS = Path(__file__).with_name("assets")
SCRIPTS = (
    "dagre.min.js",
    "document.js",
    "elements.js",
    "layout.js",
    "canvas.js",
    "graph.js",
    "details.js",
    "differences.js",
    "passes.js",
    "device.js",
    "timeline.js",
    "roofline.js",
    "numbers.js",
    "search.js",
    "main.js",
)
"""Scripts of the page, in the order in which they stand in it."""


def page(found: Mapping[str, Any]) -> str:
    """Return the whole page of a document.

    A Content-Security-Policy allows the page's own script and style by their hashes and nothing else; a live page may also ask the
    server that it came from.  The document is compressed and in base64, in which no text of a model can end its element.
    """
    script = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS)
    style = (ASSETS / "view.css").read_text(encoding="utf-8")
    body = (ASSETS / "body.html").read_text(encoding="utf-8")
    data = base64.b64encode(gzip.compress(as_json(found).encode("utf-8", "replace"), 6, mtime=0)).decode()
    connect = "'self'" if found["live"] else "'none'"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src blob: data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(str(found['title']))} - ttc view</title>",
            f"<style>{style}</style>",
            "</head>",
            f"<body>{body}",
            f'<script type="text/plain" id="document">{data}</script>',
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        )
    )


def _hash(text: str) -> str:
    """Return the hash by which a policy allows an element with this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

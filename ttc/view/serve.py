"""`ttc view --serve`: the page from a server on this machine alone, made anew whenever the dump has grown."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from ttc.dialects.core.errors import Error
from ttc.view.document import ViewParts, document, opened
from ttc.view.dumped_passes import DumpedPasses
from ttc.view.page import page

HOST = "127.0.0.1"


class LivePage:
    """The page of an archive and a dump as they are now, made once for each state of theirs."""

    def __init__(self, archive: Path | None, dump: Path | None) -> None:
        """archive, dump: may come to be later, while a compilation runs."""
        self._archive = archive
        self._dump = dump
        self._lock = Lock()
        self._made: tuple[str, str] | None = None

    def version(self) -> str:
        """Return a text that changes whenever the page would."""
        folders = [] if self._dump is None else sorted(self._dump.glob("*/*.mlir")) + sorted(self._dump.glob("index.json"))
        files = folders if self._archive is None else [*folders, self._archive]
        marks = [(path.name, path.lstat().st_mtime_ns) for path in files if path.is_file()]
        return f"{len(marks)}-{max((mark for _, mark in marks), default=0)}"

    def text(self) -> str:
        """Return the page.  Raises as `document` does, and E0102 before there is anything to show."""
        with self._lock:
            version = self.version()
            if self._made is None or self._made[0] != version:
                archive = None if self._archive is None or not self._archive.exists() else opened(self._archive)
                dump = None if self._dump is None else DumpedPasses(self._dump)
                title = (self._archive or self._dump or Path("ttc")).name
                self._made = version, page(document(ViewParts(archive, dump, live=True, title=title)))
            return self._made[1]


def serve(archive: Path | None, dump: Path | None, port: int, told: Callable[[str], None]) -> int:
    """Serve the page until the process is interrupted.

    port: 0 for one that is free.  told: is given the address.
    Raises:  E0104 if the port is taken.
    """
    live = LivePage(archive, dump)
    try:
        server = ThreadingHTTPServer((HOST, port), handler_of(live))
    except OSError as error:
        raise Error("E0104", f"port {port} cannot be had: {error.strerror}", hint="leave out --port") from None
    with server:
        told(f"http://{HOST}:{server.server_port}/")
        server.serve_forever(poll_interval=0.2)
    return 0


def handler_of(live: LivePage) -> type[BaseHTTPRequestHandler]:
    """Return the class that answers requests with a page."""

    class Handler(BaseHTTPRequestHandler):
        """Answers `/` with the page and `/version` with its version, to callers that name this machine as the host."""

        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            host = (self.headers.get("Host") or "").partition(":")[0]
            if host not in (HOST, "localhost") or self.path not in ("/", "/version"):
                self.send_error(404)
                return
            try:
                kind, text = ("text/plain", live.version()) if self.path == "/version" else ("text/html", live.text())
            except Error as error:
                self._answer(503, "text/plain", f"{error}\nThe page can be loaded again when the compilation has gone on.\n")
                return
            self._answer(200, kind, text)

        def _answer(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            for name, value in (
                ("Content-Type", f"{kind}; charset=utf-8"),
                ("Content-Length", str(len(body))),
                ("Cache-Control", "no-store"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing of requests."""

    return Handler

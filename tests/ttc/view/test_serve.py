"""The page from a server of this machine."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.ttc.view.conftest import Compiled
from ttc.dialects.core.errors import Error
from ttc.view.serve import HOST, LivePage, handler_of, serve

PORT = 0


@pytest.fixture
def server(compiled: Compiled) -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer((HOST, PORT), handler_of(LivePage(compiled.archive, compiled.dump))) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def get(server: ThreadingHTTPServer, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_page_and_version(server: ThreadingHTTPServer) -> None:
    status, text = get(server, "/")
    assert status == 200
    assert "connect-src 'self'" in text
    assert get(server, "/version") == get(server, "/version")


def test_nothing_else_is_served(server: ThreadingHTTPServer) -> None:
    assert get(server, "/../model.tti")[0] == 404
    assert get(server, "/", Host="evil.example")[0] == 404


def test_before_and_after_a_dump(tmp_path: Path, compiled: Compiled) -> None:
    live = LivePage(None, tmp_path / "dump")
    before = live.version()
    with pytest.raises(Error, match="E0102"):
        live.text()
    (tmp_path / "dump").symlink_to(compiled.dump)
    assert live.version() != before
    assert live.text() is live.text()


def test_a_port_that_is_taken(server: ThreadingHTTPServer) -> None:
    with pytest.raises(Error, match="E0104"):
        serve(None, None, server.server_port, lambda address: None)

"""The process of a stage: it loads an archive, and runs its programs for the pipeline, until that is gone."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.pipeline.arena import SharedArena
from ttc.pipeline.keeping import KeepingSession
from ttc.pipeline.messages import error_as_data, receive, send
from ttc.runtime.machine.session import Session


def main(descriptor: int, memory: tuple[int, int], size: tuple[int, int], archive: str, options: Mapping[str, Any]) -> None:
    """Serve until the other side closes the socket.

    Args:
        descriptor: of the socket.
        memory, size: descriptors and sizes in bytes of shared memory: of what comes in, and of what goes out.
        archive: path of it.
        options: of the session: threads, engine, exact.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's, who ends this process
    with socket.socket(fileno=descriptor) as connection:
        got, sent = (SharedArena(one, bytes_) for one, bytes_ in zip(memory, size, strict=True))
        try:
            session = _session(archive, options)
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            send(connection, {"error": error_as_data(error)})
            return
        send(connection, {"arrays": []})
        try:
            _serve(connection, session, got, sent)
        except OSError:
            pass  # the caller is gone
    os._exit(0)  # nothing is left to be done, and threads of libraries need not be waited for


def _session(archive: str, options: Mapping[str, Any]) -> KeepingSession:
    from ttc.runtime.engines.table import Exact
    from ttc.runtime.loader import load_program

    exact = Exact(options["stochastic_rounding"]) if options["exact"] else None
    program = load_program(Path(archive), engine=options["engine"], threads=options["threads"], exact=exact)
    program.prepare()
    return KeepingSession(Session(program, number=options["device"]))


def _serve(connection: socket.socket, session: KeepingSession, got: SharedArena, sent: SharedArena) -> None:
    while (message := receive(connection)) is not None:
        try:
            arrays = got.read(message["arrays"], copied=message["do"] == "assign" or message.get("keep") is not None)
            answer: dict[str, Any] = {"arrays": sent.write(_done(session, message, arrays))}
        except Error as error:
            answer = {"error": error_as_data(error)}
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            answer = {"error": error_as_data(error)}
        send(connection, answer)


def _done(session: KeepingSession, message: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """Do what a message asks for, and return the arrays of the answer."""
    match message["do"]:
        case "call":
            return session.call(message["program"], arrays, keep=message["keep"], take=message["take"])
        case "drop":
            session.drop()
            return {}
        case "states":
            return session.states(message["names"])
        case "parameters":
            return session.parameters()
        case "assign":
            parts = [{key[2:]: value for key, value in arrays.items() if key.startswith(kind)} for kind in ("p:", "s:")]
            session.assign(*parts)
            return {}
        case other:
            raise Error("E0901", f"a stage is asked to {other}")

"""Checkpoints of other models, cut, changed or made to do harm: one error each, and nothing has changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from tests.runtime.machine.test_checkpoint import walking
from ttc.dialects.core.errors import Error
from ttc.runtime.machine.session import Session

X = np.arange(4, dtype=np.float32)


def refused(path: Path, code: str = "E0807", session: Session | None = None) -> Error:
    """The error of restoring; the session is as it was."""
    chosen = Session(walking("reference")) if session is None else session
    chosen.call("step", {"x": X})
    before = {**chosen.states(), **chosen.parameters()}
    with pytest.raises(Error) as failure:
        chosen.restore(path)
    assert failure.value.code == code
    assert str(failure.value.where).startswith(str(path))
    after = {**chosen.states(), **chosen.parameters()}
    assert all(np.array_equal(before[name], after[name]) for name in before)
    return failure.value


@pytest.fixture
def written(tmp_path: Path) -> Path:
    session, path = Session(walking("reference")), tmp_path / "c.safetensors"
    session.call("step", {"x": X + 1})
    session.checkpoint(path)
    return path


def test_another_model_is_refused_by_name(written: Path):
    assert "state 's' is float32 of [4] there and missing here" in str(refused(written, session=Session(walking("reference", name="t"))))
    other = Session(walking("reference", "float16", "Half"))
    with pytest.raises(Error, match=r"parameter 'w' is float32 of \[4\] there and float16 of \[4\] here"):
        other.restore(written)


def test_places_that_are_no_files(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "missing", tmp_path / "a\0b"):
        refused(path, "E0102")
    session = Session(walking("reference"))
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "missing" / "c"):
        with pytest.raises(Error) as failure:
            session.checkpoint(path)
        assert failure.value.code == "E0103"
    session.close()
    for use in (session.checkpoint, session.restore):
        with pytest.raises(Error) as failure:
            use(tmp_path / "c")
        assert failure.value.code in ("E0803", "E0102")


def test_every_cut_and_every_changed_byte_of_the_header(written: Path, rng: np.random.Generator):
    whole = written.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    session = Session(walking("reference"))
    for length in (*rng.integers(0, len(whole), 60).tolist(), 0, 7, 8, len(whole) - 1):
        written.write_bytes(whole[:length])
        refused(written, session=session)
    for place in rng.integers(0, start, 200).tolist():
        written.write_bytes(whole[:place] + bytes([whole[place] ^ int(rng.integers(1, 256))]) + whole[place + 1 :])
        found = None
        try:
            session.restore(written)
        except Error as error:
            found = error.code
        assert found in (None, "E0807", "E0801", "E0802")  # None: a space, the name of the producer
    written.write_bytes(whole + b"\0")
    refused(written, session=session)


def patched(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def new(whole: bytes) -> bytes:
        end = 8 + int.from_bytes(whole[:8], "little")
        header = json.loads(whole[8:end])
        head = json.loads(header["__metadata__"]["ttc"])
        change(header, head)
        header["__metadata__"]["ttc"] = json.dumps(head)
        text = json.dumps(header).encode()
        return len(text).to_bytes(8, "little") + text + whole[end:]

    return new


def raw(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def changed(whole: bytes) -> bytes:
        end = 8 + int.from_bytes(whole[:8], "little")
        text = whole[8:end].replace(old, new)
        assert text != whole[8:end]
        return len(text).to_bytes(8, "little") + text + whole[end:]

    return changed


def moved(members: dict[str, Any]) -> None:
    members["q"] = members.pop("states/s")


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "huge header": lambda whole: (1 << 62).to_bytes(8, "little") + whole[8:],
    "deep": lambda whole: (100_000).to_bytes(8, "little") + b"[" * 100_000,
    "twice": raw(b'"states/s":', b'"parameters/w":'),
    "not a number": raw(b'"shape":[4]', b'"shape":[NaN]'),
    "negative": raw(b'"shape":[4]', b'"shape":[-4]'),
    "outside": patched(lambda header, head: header["states/s"].update(data_offsets=[16, 1 << 60])),
    "over": patched(lambda header, head: header["states/s"].update(shape=[1 << 62, 16])),
    "other shape": patched(lambda header, head: header["states/s"].update(shape=[2, 2])),
    "other dtype": patched(lambda header, head: header["states/s"].update(dtype="I32")),
    "integers": patched(lambda header, head: (header["states/s"].update(dtype="I32"), head["tensors"].update({"states/s": "int32"}))),
    "objects": patched(lambda header, head: head["tensors"].update({"states/s": "object"})),
    "no dtype": patched(lambda header, head: head["tensors"].update({"states/s": "S4"})),
    "unnamed": patched(lambda header, head: head["tensors"].pop("states/s")),
    "renamed": patched(lambda header, head: (moved(header), moved(head["tensors"]))),
    "version": patched(lambda header, head: head.update(format_version=2)),
    "text version": patched(lambda header, head: head.update(format_version="1")),
    "unknown field": patched(lambda header, head: head.update(more=1)),
    "statics": patched(lambda header, head: head.update(statics={"step": {"n": 1}})),
    "statics of nobody": patched(lambda header, head: head.update(statics={"n": {"n": 1}})),
    "queue": patched(lambda header, head: head.update(queues=[{"program": None, "queue": "q", "entries": 1, "read": {}}])),
    "state as queue": patched(lambda header, head: head.update(queues=[{"program": "step", "queue": "s", "entries": 1, "read": {}}])),
    "readers": patched(lambda header, head: head.update(queues=[{"program": "step", "queue": "x", "entries": 0, "read": {"h": 0}}])),
    "entries": patched(lambda header, head: head.update(queues=[{"program": "step", "queue": "x", "entries": 1 << 60, "read": {"g": 0}}])),
    "foreign": lambda whole: save({"states/s": X}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name: str, written: Path):
    written.write_bytes(HOSTILE[name](written.read_bytes()))
    refused(written)


def test_a_write_that_fails_leaves_the_old_file(written: Path, monkeypatch: pytest.MonkeyPatch):
    before = written.read_bytes()
    session = Session(walking("reference"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Error) as failure:
        session.checkpoint(written)
    assert failure.value.code == "E0103"
    assert written.read_bytes() == before
    assert os.listdir(written.parent) == [written.name]

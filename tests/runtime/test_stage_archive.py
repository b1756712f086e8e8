"""Archives of stages are read as they were written; whatever else is in a file is an error."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime.stage_archive import (
    FORMAT_VERSION,
    GraphPort,
    GraphValue,
    SharedTensor,
    StageGraph,
    StagePass,
    StoredLeaf,
    StoredSignature,
    StoredStage,
    StoredStages,
    described,
    open_stage_archive,
    write_stage_archive,
)

MEMBERS = {"tensors/0000.bin": memoryview(bytes(range(8))), "parts/0001.tti": memoryview(b"no archive")}
SIGNATURE = StoredSignature((StoredLeaf((2,), "float32", False),), "0")
GRAPH = StageGraph("parts/0001.tti", 2, (GraphPort("x", 1, "float32"),), (GraphValue("y"),))
STAGE = StoredStage((("weight", "weight"),), (), (), SIGNATURE, {}, None, StagePass(GRAPH, None, SIGNATURE))
STAGES = StoredStages(
    FORMAT_VERSION, "1", "host", "float32", 2, {"weight": SharedTensor("tensors/0000.bin", (2,), "Float32", True)}, (STAGE,)
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Fixture of an archive of one stage."""
    found = tmp_path / "stages.tti"
    write_stage_archive(found, STAGES, MEMBERS)
    return found


def test_members_come_back(path: Path) -> None:
    archive = open_stage_archive(path)
    assert archive.read == set()
    assert replace(archive.stages, members={}) == STAGES
    assert bytes(archive.member("tensors/0000.bin")) == bytes(range(8))
    assert archive.read == {"tensors/0000.bin"}
    with pytest.raises(Error, match="E0701"):
        archive.part("parts/0001.tti")


def test_a_changed_byte_is_found_where_it_is_read(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[raw.index(bytes(range(8))) + 3] ^= 4
    path.write_bytes(raw)
    archive = open_stage_archive(path)
    assert bytes(archive.member("parts/0001.tti")) == b"no archive"
    with pytest.raises(Error, match=r"E0704.*do not match their hash"):
        archive.member("tensors/0000.bin")


def test_every_byte_but_those_of_members_is_sealed(path: Path) -> None:
    """Members are verified where they are read; nothing else of the file can change unnoticed."""
    raw = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        sizes = {info.filename: info.file_size for info in file.infolist()}
    inside = set[int]()
    for name, data in MEMBERS.items():
        start = raw.index(bytes(data))
        inside |= set(range(start, start + sizes[name]))
    for place in [place for place in range(0, len(raw), 7) if place not in inside]:
        changed = bytearray(raw)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(Error, match="E070"):
            open_stage_archive(path)


def changed(change: Callable[[Any], object]) -> bytes:
    members = {name: {"size": len(data), "sha256": "0" * 64} for name, data in MEMBERS.items()}
    raw = {**json.loads(_text()), "members": members}
    change(raw)
    return json.dumps(raw).encode()


def _text() -> str:
    from ttc.dialects.netlist.codec import encode

    return json.dumps(encode(STAGES))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda raw: raw.update(format_version=2), "E0702"),
        (lambda raw: raw.pop("stages"), "E0703"),
        (lambda raw: raw.update(stages=[]), "E0703"),
        (lambda raw: raw.update(rows=0), "E0703"),
        (lambda raw: raw["tensors"]["weight"].update(shape=[3]), "E0703"),
        (lambda raw: raw["tensors"]["weight"].update(shape=[-2, -1]), "E0703"),
        (lambda raw: raw["tensors"]["weight"].update(format="Float33"), "E0703"),
        (lambda raw: raw["tensors"]["weight"].update(member="tensors/0007.bin"), "E0703"),
        (lambda raw: raw["stages"][0].update(parameters=[["weight", "bias"]]), "E0703"),
        (lambda raw: raw["stages"][0].update(kept=["mean"]), "E0703"),
        (lambda raw: raw["stages"][0]["evaluation"]["forward"].update(arguments=3), "E0703"),
        (lambda raw: raw["stages"][0]["evaluation"]["forward"].update(outputs=[]), "E0703"),
        (lambda raw: raw["stages"][0]["evaluation"]["forward"].update(part="parts/0009.tti"), "E0703"),
        (lambda raw: raw["stages"][0]["evaluation"]["forward"].pop("part"), "E0703"),
        (lambda raw: raw["stages"][0]["evaluation"]["forward"]["inputs"][0].update(position=2), "E0703"),
        (lambda raw: raw["stages"][0]["evaluation"]["forward"]["inputs"][0].update(position=-1), "E0703"),
        (lambda raw: raw["stages"][0]["evaluation"]["forward"]["outputs"].append({"position": 2}), "E0703"),
    ],
)
def test_descriptions_that_are_none(change: Callable[[Any], object], code: str) -> None:
    assert described(changed(lambda _: None)).stages == (STAGE,)
    with pytest.raises(Error) as caught:
        described(changed(change))
    assert caught.value.code == code


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff", b'{"format_version": true}'])
def test_text_that_is_none(text: bytes) -> None:
    with pytest.raises(Error, match="E070[23]"):
        described(text)

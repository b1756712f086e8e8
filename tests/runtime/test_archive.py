"""Archives: what is written is what is read, in the same bytes each time; whatever else is in a file is refused."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.forging import Members, code_of, forge
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.runtime.archive import open_archive, write_archive
from ttc.runtime.loader import load
from ttc.runtime.tensors import TensorSource
from ttc.runtime.zip_format import ALIGNMENT

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(affine, tmp_path: Path) -> Path:
    netlist, tensors, description = affine
    target = tmp_path / "affine.tti"
    write_archive(target, netlist=netlist, tensors=tensors, description=description, debug={"nn.mlir": "module {}\n"})
    return target


# ---- what is written -------------------------------------------------------------------------------------------------------------


def test_tensors_netlist_and_texts_come_back(affine, path: Path):
    netlist, tensors, description = affine
    archive = open_archive(path)
    assert archive.netlist() == netlist
    assert archive.manifest.description == description
    assert archive.debug() == {"nn.mlir": "module {}\n"}
    for key, source in tensors.items():
        assert np.array_equal(archive.tensor(key), source.load())
        assert not archive.tensor(key).flags.writeable
    forward = archive.manifest.programs["forward"].arguments[0]
    assert (forward.name, forward.shape, forward.dtype, forward.format, forward.streamed) == ("x", (3, 4), "float32", "Float32", True)


def test_the_same_program_gives_the_same_bytes(affine, path: Path, tmp_path: Path):
    netlist, tensors, description = affine
    write_archive(tmp_path / "b.tti", netlist=netlist, tensors=tensors, description=description, debug={"nn.mlir": "module {}\n"})
    assert path.read_bytes() == (tmp_path / "b.tti").read_bytes()
    load(path).program.save(tmp_path / "c.tti")
    assert path.read_bytes() == (tmp_path / "c.tti").read_bytes()
    load(path).program.save(tmp_path / "c.tti")  # its plans are kept by now
    assert path.read_bytes() == (tmp_path / "c.tti").read_bytes()


def test_a_zip_tool_reads_it_and_data_is_aligned(path: Path):
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        infos = file.infolist()
        assert [i.filename for i in infos] == ["tensors/0001.bin", "tensors/0002.bin", "netlist.json", "debug/nn.mlir", "manifest.json"]
        assert {i.compress_type for i in infos} == {zipfile.ZIP_STORED}
        assert {i.date_time for i in infos} == {(1980, 1, 1, 0, 0, 0)}
        for info in infos:
            data = file.read(info)
            place = path.read_bytes().index(data)
            assert place % ALIGNMENT == 0
    manifest = json.loads(zipfile.ZipFile(path).read("manifest.json"))
    member = zipfile.ZipFile(path).read("netlist.json")
    assert manifest["members"]["netlist.json"] == {"size": len(member), "sha256": hashlib.sha256(member).hexdigest()}


@pytest.mark.parametrize(
    ("format", "value", "stored"),
    [
        ("Float16_b", np.array([1.0, 1.00390625, np.nan], np.float32), np.array([1.0, 1.0, np.nan], ml_dtypes.bfloat16)),
        ("Float32", np.zeros((2, 0, 3), np.float32), np.zeros((2, 0, 3), np.float32)),
        ("Int32", np.array(7, np.int64), np.array(7, np.int32)),
        ("Bool", np.array([True, False]), np.array([True, False])),
        ("Float32", np.arange(6, dtype=np.float32).reshape(2, 3).T, np.arange(6, dtype=np.float32).reshape(2, 3).T),
    ],
)
def test_values_are_stored_in_their_format(counter, tmp_path: Path, format, value, stored):
    netlist, tensors, description = counter
    tensors["a \u2603/../\ud7ff key"] = TensorSource.of_array(value, format)
    write_archive(tmp_path / "a.tti", netlist=netlist, tensors=tensors, description=description)
    found = open_archive(tmp_path / "a.tti").tensor("a \u2603/../\ud7ff key")
    assert found.dtype == stored.dtype
    assert found.shape == stored.shape
    assert found.tobytes() == np.ascontiguousarray(stored).tobytes()


def test_large_tensors_pass_in_chunks(counter, tmp_path: Path):
    netlist, tensors, description = counter
    value = np.arange(5_000_000, dtype=np.float32)
    released: list[bool] = []
    tensors["big"] = TensorSource(value.shape, "Float16_b", lambda: value, lambda: released.append(True))
    write_archive(tmp_path / "a.tti", netlist=netlist, tensors=tensors, description=description)
    assert np.array_equal(open_archive(tmp_path / "a.tti").tensor("big"), value.astype(ml_dtypes.bfloat16))
    assert released == [True]


@pytest.mark.parametrize("format", ["Bfp8_b", "Bfp4", "Bfp2_b", "Float16", "Lf8", "Fp8_e4m3", "Tf32"])
@pytest.mark.parametrize("shape", [(3, 40), (5, 1), (2, 0), ()])
def test_packed_formats_come_back_as_numbers(counter, tmp_path: Path, format: str, shape: tuple[int, ...]):
    netlist, tensors, description = counter
    value = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    tensors["packed"] = TensorSource.of_array(value, format)
    write_archive(tmp_path / "a.tti", netlist=netlist, tensors=tensors, description=description)
    archive = open_archive(tmp_path / "a.tti")
    size = format_named(format).size_bytes(shape)
    assert archive.manifest.members[archive.manifest.tensors["packed"].member].size == size
    found = archive.tensor("packed")
    assert not found.flags.writeable
    np.testing.assert_array_equal(found, format_named(format).round(value))
    held = archive.sources()["packed"].value()
    np.testing.assert_array_equal(held, found)
    assert not held.flags.writeable
    tensors["packed"] = archive.sources()["packed"]
    write_archive(tmp_path / "b.tti", netlist=netlist, tensors=tensors, description=description)
    assert (tmp_path / "a.tti").read_bytes() == (tmp_path / "b.tti").read_bytes()


def test_large_block_tensors_pass_in_chunks(counter, tmp_path: Path):
    netlist, tensors, description = counter
    value = np.random.default_rng(3).normal(size=(1300, 2008)).astype(np.float32)
    tensors["big"] = TensorSource.of_array(value, "Bfp8_b")
    assert len(list(tensors["big"].chunks())) > 1
    write_archive(tmp_path / "a.tti", netlist=netlist, tensors=tensors, description=description)
    np.testing.assert_array_equal(open_archive(tmp_path / "a.tti").tensor("big"), format_named("Bfp8_b").round(value))


# ---- where it is written ---------------------------------------------------------------------------------------------------------


def test_it_takes_the_place_of_a_file_whole(counter, path: Path):
    netlist, tensors, description = counter
    before = open_archive(path)
    write_archive(path, netlist=netlist, tensors=tensors, description=description)
    assert open_archive(path).manifest.model == "counter"
    assert before.tensor("w").tolist() == [2.0] * 4
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
def test_a_failure_midway_leaves_the_old_file_and_no_other(affine, path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException):
    netlist, tensors, description = affine
    before, calls, write = path.read_bytes(), [], os.write

    def failing(fd: int, data: bytes) -> int:
        calls.append(len(data))
        if len(calls) > 5:
            raise failure
        return write(fd, data)

    monkeypatch.setattr(os, "write", failing)
    with pytest.raises(Error if isinstance(failure, OSError) else type(failure)) as caught:
        write_archive(path, netlist=netlist, tensors=tensors, description=description)
    if isinstance(failure, OSError):
        assert isinstance(caught.value, Error)
        assert caught.value.code == "E0103"
        assert "No space left" in caught.value.message
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["affine.tti"]


def test_what_is_not_a_regular_file_is_not_replaced(affine, tmp_path: Path):
    netlist, tensors, description = affine
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("fifo", "folder", "link", "missing/a.tti", "/dev/null", "nul\0"):
        with pytest.raises(Error) as failure:
            write_archive(tmp_path / name, netlist=netlist, tensors=tensors, description=description)
        assert failure.value.code == "E0103"
    assert sorted(os.listdir(tmp_path)) == ["fifo", "folder", "link"]


# ---- what is refused -------------------------------------------------------------------------------------------------------------


def test_truncated_archives(path: Path):
    data = path.read_bytes()
    for sixteenth in range(16):
        path.write_bytes(data[: len(data) * sixteenth // 16])
        assert code_of(path) == "E0701"
    path.write_bytes(data[:-1])
    assert code_of(path) == "E0701"


def test_no_flipped_bit_goes_unnoticed(path: Path):
    data = path.read_bytes()
    for position in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        assert code_of(path) in {"E0701", "E0702", "E0703", "E0704"}, position


def test_bytes_before_between_or_after(path: Path):
    data = path.read_bytes()
    for changed in (b"#!/bin/sh\n" + data, data + b"\0", b"\0" * 64 + data):
        path.write_bytes(changed)
        assert code_of(path) in {"E0701", "E0703", "E0704"}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_repackaged_archive(path: Path, method: int):
    packed = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w", method) as new:
        for info in old.infolist():
            new.writestr(info.filename, old.read(info))
    path.write_bytes(packed.getvalue())
    assert code_of(path) == "E0703"


def test_files_that_are_no_archives(tmp_path: Path):
    (tmp_path / "random").write_bytes(np.random.default_rng(0).bytes(5000))
    (tmp_path / "empty").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "zip", "w") as file:
        file.writestr("debug/a", "x")
    os.mkfifo(tmp_path / "fifo")
    expected = {"random": "E0701", "empty": "E0701", "zip": "E0701", "fifo": "E0102", "missing": "E0102", ".": "E0102"}
    assert {name: code_of(tmp_path / name) for name in expected} == expected


def test_a_forger_who_changes_nothing_is_let_in(path: Path):
    assert forge(path) is None


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "tensors/../x.bin", "C:/x", "debug/a\0b", "debug/", "tensors/0001.bin/", "debug/..", "debug/\x7f"]
)
def test_unsafe_member_names(path: Path, name: str):
    assert forge(path, members=lambda m: [*m, (name, b"x")]) == "E0703"


def test_duplicate_missing_and_extra_members(path: Path):
    pristine = path.read_bytes()
    for change in (
        lambda m: [*m, m[0]],
        lambda m: m[1:],
        lambda m: [*m, ("debug/more", b"")],
        lambda m: [x for x in m if x[0] != "netlist.json"],
    ):
        path.write_bytes(pristine)
        assert forge(path, members=change) == "E0703"


def test_symbolic_links_and_folders(path: Path):
    pristine = path.read_bytes()
    for mode in (stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755, stat.S_IFIFO):
        path.write_bytes(pristine)
        assert forge(path, central=(mode << 16).to_bytes(4, "little")) == "E0703"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: m.update(format_version=2), "E0702"),
        (lambda m: m.update(format_version=0), "E0702"),
        (lambda m: m.update(format_version="1"), "E0701"),
        (lambda m: m.update(extra=1), "E0703"),
        (lambda m: m.pop("target"), "E0703"),
        (lambda m: m.update(target="n150"), "E0703"),
        (lambda m: m["programs"].clear(), "E0703"),
        (lambda m: m["programs"]["forward"]["arguments"][0].update(dtype="int64"), "E0703"),
        (lambda m: m["tensors"]["w"].update(shape=[5]), "E0704"),
        (lambda m: m["tensors"]["w"].update(shape=[-4]), "E0703"),
        (lambda m: m["tensors"]["w"].update(shape=[1 << 40, 1 << 40]), "E0703"),
        (lambda m: m["tensors"]["w"].update(shape=[2, 2]), "E0703"),
        (lambda m: m["tensors"]["w"].update(format="Int32"), "E0703"),
        (lambda m: m["tensors"]["w"].update(format="Float9"), "E0703"),
        (lambda m: m["tensors"]["w"].update(member="netlist.json"), "E0703"),
        (lambda m: m["tensors"]["w"].update(member="tensors/0002.bin"), "E0703"),
        (lambda m: m["tensors"].pop("w"), "E0703"),
        (lambda m: m["parameters"]["w"].update(dtype="object"), "E0703"),
        (lambda m: m["members"]["tensors/0001.bin"].update(sha256="0" * 64), "E0704"),
        (lambda m: m["members"]["tensors/0001.bin"].update(size=17), "E0704"),
        (lambda m: m["members"]["tensors/0001.bin"].update(size=1 << 70), "E0703"),
        (lambda m: m["derived"][0].update(function=[]), "E0703"),
    ],
)
def test_manifests_that_do_not_fit(path: Path, change: Callable[[dict], object], code: str):
    assert forge(path, change) == code


@pytest.mark.parametrize("text", [b"[" * 100_000, b"{}", b"\xff", b"null", b'{"format_version": 1, "format_version": 1}', b"1" * 5000])
def test_manifests_that_are_not_json(path: Path, text: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json, "dumps", lambda *_, **__: text.decode("latin-1"))
    assert forge(path) in {"E0701", "E0703"}


def test_a_netlist_that_breaks_a_rule(path: Path):
    def broken(members: Members) -> Members:
        return [(n, d.replace(b'"grid":[1,1]', b'"grid":[1,9]') if n == "netlist.json" else d) for n, d in members]

    with zipfile.ZipFile(path) as file:
        netlist = broken([("netlist.json", file.read("netlist.json"))])[0][1]
    record = {"size": len(netlist), "sha256": hashlib.sha256(netlist).hexdigest()}
    assert forge(path, lambda m: m["members"].update({"netlist.json": record}), broken) == "E0602"


def test_tensors_need_not_be_hashed_to_look_at_an_archive(path: Path):
    data = bytearray(path.read_bytes())
    data[open_archive(path).entries["tensors/0001.bin"].data_offset] ^= 1
    path.write_bytes(data)
    assert open_archive(path, verify_tensors=False).manifest.model == "affine"
    assert code_of(path) == "E0704"


def test_a_full_disk_leaves_nothing(affine, tmp_path: Path):
    script = """
import resource, sys
import numpy as np
from ttc.dialects.core.errors import Error
from ttc.runtime.archive import write_archive
from ttc.runtime.loader import load_program
from ttc.runtime.tensors import TensorSource
program = load_program(sys.argv[1])
tensors = {**program.constants.sources, "big": TensorSource.of_array(np.zeros(1 << 20, np.float32), "Float32")}
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    write_archive(sys.argv[2], netlist=program.netlist, tensors=tensors, description=program.description)
except Error as error:
    print(error.code)
"""
    netlist, tensors, description = affine
    write_archive(tmp_path / "a.tti", netlist=netlist, tensors=tensors, description=description)
    command = [sys.executable, "-c", script, str(tmp_path / "a.tti"), str(tmp_path / "b.tti")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "E0103"), done.stderr
    assert os.listdir(tmp_path) == ["a.tti"]


def test_a_killed_writer_leaves_the_old_file(affine, path: Path):
    script = """
import os, signal, sys
from ttc.runtime.archive import write_archive
from ttc.runtime.loader import load_program
from ttc.runtime.tensors import TensorSource
program = load_program(sys.argv[1])
tensors = {**program.constants.sources, "last": TensorSource((1,), "Float32", lambda: os.kill(os.getpid(), signal.SIGKILL))}
write_archive(sys.argv[1], netlist=program.netlist, tensors=tensors, description=program.description)
"""
    before = path.read_bytes()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script, str(path)], env=environment, capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert list(path.parent.glob("*.tti")) == [path]

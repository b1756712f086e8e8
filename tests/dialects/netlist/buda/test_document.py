"""YAML into nodes, and files that are not to be trusted."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda import document
from ttc.dialects.netlist.buda.document import Items, Quoted, Table, read_document


def plain(node: object) -> object:
    """Nodes as dicts and lists."""
    if isinstance(node, Table):
        return {key: plain(value) for key, value in node.values.items()}
    return [plain(value) for value in node.values] if isinstance(node, Items) else node


def test_nodes_with_their_lines() -> None:
    read = read_document(b"# a comment\na: {b: 0x10, c: [1, 'two', ~]}\nd:\n  - e\n  - f: {}\n", "n")
    assert plain(read.root) == {"a": {"b": "0x10", "c": ["1", "two", None]}, "d": ["e", {"f": {}}]}
    assert isinstance(read.root, Table)
    assert read.root.lines == {"a": 2, "d": 3}
    steps = read.root.values["d"]
    assert isinstance(steps, Items)
    assert (steps.line, steps.lines) == (4, [4, 5])
    inner = read.root.values["a"]
    assert isinstance(inner, Table)
    listed = inner.values["c"]
    assert isinstance(listed, Items)
    assert [type(value) for value in listed.values] == [str, Quoted, type(None)]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~\n", "None"])
def test_files_without_a_value(text: str) -> None:
    assert read_document(text.encode()).root is None


def test_texts_that_say_nothing_but_in_quotes() -> None:
    assert plain(read_document(b"{a: null, b: 'null', c: None, d: , e: ''}").root) == {
        "a": None,
        "b": "null",
        "c": None,
        "d": None,
        "e": "",
    }


def test_aliases_stand_for_the_node_they_name() -> None:
    root = read_document(b"a: &x {b: 1}\nc: *x\nd: &y 7\ne: *y\n").root
    assert isinstance(root, Table)
    assert root.values["a"] is root.values["c"]
    assert root.values["e"] == "7"


def test_keys_written_twice_are_noted_and_left_out() -> None:
    read = read_document(b"a: 1\nb: 2\na: 3\ngraphs:\n  c: {d: 4}\n  e: 4\n  c: {d: 5}\ntest-config: {d: 1, d: 2}\n")
    assert plain(read.root) == {"a": "1", "b": "2", "graphs": {"c": {"d": "4"}, "e": "4"}, "test-config": {"d": "1"}}
    assert read.twice == (("a", 3, 1), ("c", 7, 5))
    assert read.again == ()


def test_fields_written_again_count_as_the_formats_reader_has_it() -> None:
    fields = b"""graphs: {g: {op: {
      t: 1, t: 2, t: 2, mblock: [1, 1], mblock: [2, 3], dram: [[0, 1]], dram: [[1, 2]],
      input_0_tms: [transpose], input_0_tms: [hslice: 2], attributes: {bias: true, m_k: 1}, attributes: {m_k: 2}}}}"""
    read = read_document(fields)
    op = {"t": "2", "mblock": ["2", "3"], "dram": [["0", "1"]], "input_0_tms": ["transpose", {"hslice": "2"}]}
    assert plain(read.root) == {"graphs": {"g": {"op": {**op, "attributes": {"bias": "true", "m_k": "2"}}}}}
    assert [key for key, *_ in read.again] == ["t", "mblock", "dram", "input_0_tms", "attributes"]
    assert read.twice == ()


@pytest.mark.parametrize("field", ["in_df: [A], in_df: [B]", "$v: 0, $v: 1", "loop: 1, loop: 2", "t: 1, t: {a: 1}", "x: {a: 1}, x: 2"])
def test_what_may_stand_once_alone(field: str) -> None:
    read = read_document(f"graphs: {{g: {{{field}}}}}".encode())
    assert (len(read.twice), read.again) == (1, ())


def test_lists_that_are_joined_leave_their_aliases_alone() -> None:
    read = read_document(b"graphs: {a: {input_0_tms: &x [b], input_0_tms: *x, input_0_tms: [c]}, d: {input_1_tms: *x}}")
    assert plain(read.root) == {"graphs": {"a": {"input_0_tms": ["b", "b", "c"]}, "d": {"input_1_tms": ["b"]}}}


def test_kernel_broadcasts_are_merged() -> None:
    read = read_document(b"graphs: {kernel_broadcast: {input_0: 1}, kernel_broadcast: {input_1: 2}, kernel_broadcast: {input_1: 3}}")
    assert plain(read.root) == {"graphs": {"kernel_broadcast": {"input_0": "1", "input_1": "2"}}}
    assert len(read.twice) == 1


@pytest.mark.parametrize(
    ("data", "where", "part"),
    [
        (b"a: [1, 2\n", "n:2", "not YAML"),
        (b"a: {b: 1\nc: 2", "n:2", "not YAML"),
        (b"a:\n\tb: 1\n", "n:2", "not YAML"),
        (b"a: 1\nb: \x00\n", "n:2", "not YAML"),
        (b"a: 1\nb: \xff\xfe\n", "n:2", "not text in UTF-8: byte 0xff"),
        (b"a: 'open\n", "n:2", "not YAML"),
        (b"a: 1\n---\nb: 2\n", "n:2", "a second document"),
        (b"? [a, b]\n: 1\n", "n:1", "a key is a map or a list"),
        (b"? {a: b}\n: 1\n", "n:1", "a key is a map or a list"),
        (b"a: &x [1]\n*x : 2\n", "n:2", "a key is a map or a list"),
        (b"a: *nowhere\n", "n:1", "'*nowhere' names no node before it"),
        (b"a: &x [*x]\n", "n:1", "'*x' names no node before it"),
        (b"a: 1\n b: 2\n", "n:2", "not YAML"),
        (b"%YAML 9.9\n---\na: 1\n", "n", "not YAML"),
        (b"PK\x03\x04\x00\x00", "n:1", "not YAML"),
    ],
)
def test_what_is_not_yaml_is_one_error_with_its_place(data: bytes, where: str, part: str) -> None:
    with pytest.raises(Error) as caught:
        read_document(data, "n")
    assert caught.value.code == "E0611"
    assert (caught.value.where or "").startswith(where)
    assert part in caught.value.message


def test_hints() -> None:
    with pytest.raises(Error, match="indent with spaces"):
        read_document(b"a:\n\tb: 1\n")
    with pytest.raises(Error, match="is it cut off"):
        read_document(b"a: {b: 1,\n  c: [1, 2")


@pytest.mark.parametrize(
    "data", [b"[" * 5000, b"{a: " * 5000, b"- " * 5000 + b"a", b"? " * 5000, b"\n".join(b" " * i + b"a:" for i in range(500))]
)
def test_depth_is_bounded(data: bytes) -> None:
    start = time.process_time()
    with pytest.raises(Error) as caught:
        read_document(data, "n")
    assert caught.value.code == "E0611"
    assert time.process_time() - start < 5


def test_aliases_cannot_stand_for_billions() -> None:
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [b"a%d: &a%d [%s]" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 12)]
    with pytest.raises(Error, match="values, aliases expanded"):
        read_document(b"\n".join(lines))


def test_numbers_of_values_and_bytes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_NODES", 100)
    with pytest.raises(Error, match="more than 100 values"):
        read_document(b"[" + b"1, " * 200 + b"]")
    monkeypatch.setattr(document, "MAX_BYTES", 1 << 20)
    with pytest.raises(Error, match="more than 1 MB"):
        read_document(b" " * ((1 << 20) + 1))


def test_tags_have_no_part(tmp_path: Path) -> None:
    target = tmp_path / "made"
    data = f"a: !!python/object/apply:os.mkdir ['{target}']\nb: !!binary aGk=\nc: !!set {{x, y}}\n".encode()
    assert plain(read_document(data).root) == {"a": [str(target)], "b": "aGk=", "c": {"x": None, "y": None}}
    assert not target.exists()


def test_files(tmp_path: Path) -> None:
    with pytest.raises(Error, match="E0102"):
        read_document(tmp_path / "none.yaml")
    with pytest.raises(Error, match="not a regular file"):
        read_document(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Error, match="not a regular file"):
        read_document(tmp_path / "pipe")
    sparse = tmp_path / "sparse.yaml"
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(Error, match="more than 64 MB"):
        read_document(sparse)
    named = tmp_path / "n.yaml"
    named.write_text("a: 1\n")
    assert read_document(named).name == str(named)


def test_without_libyaml_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    data = b"a: &x {b: [1, 2], c: 'q'}\nd: *x\n"
    fast = read_document(data)
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert read_document(data) == fast
    with pytest.raises(Error, match="E0611"):
        read_document(b"a: [1")


def test_collection_of_garbage_is_as_before() -> None:
    assert gc.isenabled()
    with pytest.raises(Error):
        read_document(b"a: [")
    assert gc.isenabled()
    gc.disable()
    try:
        read_document(b"a: 1")
        assert not gc.isenabled()
    finally:
        gc.enable()

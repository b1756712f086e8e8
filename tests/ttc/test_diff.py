"""Differences of modules, archives and dumps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ttc.cli import main
from ttc.dialects.core.errors import Error
from ttc.diff import Item, compared, difference, items_of, pass_differences
from ttc.driver import compile_path
from ttc.instruments.dump import Dump
from ttc.instruments.limit import RewriteLimit
from ttc.options import CompileOptions, resolve


def item(name: str, *sources: str, **fields: str) -> Item:
    return Item(name, sources, fields)


def test_ops_are_aligned_by_what_they_came_from() -> None:
    a = [item("add", "a", x="1"), item("mul", "b"), item("relu", "c"), item("neg", "d"), item("exp", "e", place="p", cycles="10")]
    b = [item("exp", "e", place="q", cycles="12"), item("add", "a", x="2"), item("fused", "b", "c"), item("log", "n")]
    found = difference(a, b)
    assert found.removed == [a[3]]
    assert found.added == [b[3]]
    assert found.fused == [([a[1], a[2]], b[2])]
    assert found.changed == [(b[1], {"x": ("1", "2")})]
    assert found.moved == [(b[0], {"place": ("p", "q")})]
    assert found.cycles == (10, 12)
    assert difference(b, a).split == [(b[2], [a[1], a[2]])]
    assert difference(a, a).same


def test_passes_of_dumps() -> None:
    one = [{"stage": "nn", "pass": "a", "changed": True, "rewrites": {"r": 1}}, {"stage": "nn", "pass": "b", "changed": False}]
    two = [{"stage": "nn", "pass": "a", "changed": True, "rewrites": {"r": 2}}, {"stage": "nn", "pass": "b", "changed": True}]
    assert pass_differences(one, two) == [("nn:a@1", "rewrites r 1 in A, r 2 in B"), ("nn:b@1", "changes the module in B alone")]
    assert pass_differences(one, one[:1]) == [("nn:b@1", "runs in A alone")]


def test_every_kind_of_file(small_onnx: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, target, limit in (("a", "n150", None), ("b", "n150", 0), ("c", "host", None)):
        options = resolve(CompileOptions, {"batch": 2, "target": target})
        if limit is None:
            compile_path(small_onnx, options, [Dump(tmp_path / name)]).program().save(tmp_path / f"{name}.tti")
        else:
            compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "to": "nn"}), [RewriteLimit(limit), Dump(tmp_path / name)])
    assert compared(tmp_path / "a", tmp_path / "a").same
    assert any(run.startswith("nn:") for run, _ in compared(tmp_path / "a", tmp_path / "b").passes)
    assert main(["diff", str(tmp_path / "a.tti"), str(tmp_path / "a.tti")]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert main(["diff", str(tmp_path / "a.tti"), str(tmp_path / "c.tti")]) == 1
    assert "place: #netlist.grid<" in capsys.readouterr().out
    source = tmp_path / "a" / "00.import" / "000.source.mlir"
    lowered = tmp_path / "a" / "02.tile" / "002.lower-to-tile.mlir"
    assert main(["diff", str(source), str(lowered), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["same"]
    assert any(row["to"]["op"].startswith("tile.") for row in found["fused"])


@pytest.mark.parametrize(("name", "text", "code"), [("m.onnx", "", "E0201"), ("m.mlir", "%", "E0301"), ("none.tti", None, "E0102")])
def test_files_that_cannot_be_read(name: str, text: str | None, code: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(Error) as caught:
        items_of(tmp_path / name)
    assert caught.value.code == code


@pytest.mark.parametrize("index", ["{", "[1]", '[{"file": "../../x.mlir"}]', '[{"file": "/x.mlir"}]'])
def test_a_dump_names_its_own_files(index: str, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text(index)
    with pytest.raises(Error) as caught:
        items_of(tmp_path)
    assert caught.value.code == "E0301"

"""Differences of modules, archives and dumps."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.conftest import small_model
from ttc.cli import main
from ttc.comparison.diff import Item, archive_side, compared, difference, pass_differences, side_of, sides_differ
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.codec import decode, encode
from ttc.dialects.netlist.model import Netlist
from ttc.instruments.dump import Dump
from ttc.instruments.limit import RewriteLimit
from ttc.options import CompileOptions, resolve
from ttc.runtime.archive import open_archive


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
    (lowered,) = (tmp_path / "a" / "02.tile").glob("*.lower-to-tile.mlir")
    assert main(["diff", str(source), str(lowered), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["same"]
    assert any(row["to"]["op"].startswith("tile.") for row in found["fused"])


@pytest.mark.parametrize(("name", "text", "code"), [("m.onnx", "", "E0201"), ("m.mlir", "%", "E0301"), ("none.tti", None, "E0102")])
def test_files_that_cannot_be_read(name: str, text: str | None, code: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(Error) as caught:
        side_of(tmp_path / name)
    assert caught.value.code == code


@pytest.mark.parametrize("index", ["{", "[1]", '[{"file": "../../x.mlir"}]', '[{"file": "/x.mlir"}]'])
def test_a_dump_names_its_own_files(index: str, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text(index)
    with pytest.raises(Error) as caught:
        side_of(tmp_path)
    assert caught.value.code == "E0301"


# ---- everything counts ----------------------------------------------------------------------------------------------------------


def places(raw: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths to all values of a netlist as raw values."""
    items = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def other(value: Any, rng: np.random.Generator) -> Any:
    """Another value, of the same kind if there is one."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + int(rng.integers(1, 4))
        case str():
            return {"relu": "gelu", "rne": "none"}.get(value, value + "x")
        case list() if value:
            return value[:-1] if rng.integers(2) else [*value, value[-1]]
        case dict() if value:
            return {key: value[key] for key in list(value)[1:]}
        case _:
            return "x"


@pytest.mark.parametrize("target", ["n150", "host"])
def test_whatever_changes_in_a_netlist_is_told(target: str, small_onnx: Path, tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "a.tti"
    compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "target": target})).program().save(path)
    archive = open_archive(path)
    netlist = archive.netlist()
    side, raw = archive_side(archive, netlist), encode(netlist)
    found = list(places(raw))
    told = 0
    for number in rng.permutation(len(found))[:400]:
        changed = copy.deepcopy(raw)
        *way, last = found[number]
        parent = functools.reduce(lambda value, step: value[step], way, changed)
        parent[last] = other(parent[last], rng)
        try:
            mutant = decode(Netlist, changed)
            same = mutant == netlist or sides_differ(side, archive_side(archive, mutant)).same
        except Error:  # which is told, too
            continue
        assert not same or mutant == netlist, found[number]
        told += not same
    assert told > 25


def test_activations_weights_and_options_of_archives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed, activation in (("a", 0, "Relu"), ("gelu", 0, "Sigmoid"), ("weights", 1, "Relu")):
        model = small_model(seed)
        model.graph.node[2].op_type = activation
        onnx.save(model, tmp_path / "small.onnx")
        for suffix, stage in (("tti", []), ("mlir", ["--to", "nn"])):
            command = ["compile", str(tmp_path / "small.onnx"), "--batch", "2", "-o", str(tmp_path / f"{name}.{suffix}"), "-q", *stage]
            assert main(command) == 0
    a, gelu, weights = (str(tmp_path / f"{name}.tti") for name in ("a", "gelu", "weights"))
    assert main(["diff", a, gelu]) == 1
    out = capsys.readouterr().out
    assert "relu -> sigmoid" in out
    assert "tensor" not in out
    assert main(["diff", a, weights]) == 1
    assert capsys.readouterr().out == "changed  tensor w: other content\nchanged  tensor b: other content\n"
    assert main(["diff", a, weights, "--values"]) == 1
    (w,) = re.findall(r"tensor w: other content; max abs ([\d.]+), relative L2 ([\d.]+)", capsys.readouterr().out)
    old, new = (open_archive(path).tensor("w") for path in (a, weights))
    assert [float(x) for x in w] == pytest.approx([np.abs(new - old).max(), np.linalg.norm(new - old) / np.linalg.norm(old)], rel=1e-2)


def test_weights_of_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed in (("a", 0), ("b", 1)):
        onnx.save(small_model(seed), tmp_path / f"{name}.onnx")
        assert (
            main(["compile", str(tmp_path / f"{name}.onnx"), "--batch", "2", "--to", "nn", "-o", str(tmp_path / f"{name}.mlir"), "-q"]) == 0
        )
    (tmp_path / "b.mlir").write_text((tmp_path / "b.mlir").read_text().replace('ttc.model = "b"', 'ttc.model = "a"'))
    pair = [str(tmp_path / "a.mlir"), str(tmp_path / "b.mlir")]
    models = [word for name in "ab" for word in ("--weights", str(tmp_path / f"{name}.onnx"))]
    assert main(["diff", *pair]) == 0
    capsys.readouterr()
    assert main(["diff", *pair, *models, "--json", "--values"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert sorted(row["name"] for row in found["others"]) == ["tensor b", "tensor w"]
    assert found["values"]["tensor w"]["max_abs"] > 0.1
    assert main(["diff", *pair, *models, "--weights", "c.onnx"]) == 2


def test_operands_of_modules(tmp_path: Path, small_onnx: Path) -> None:
    assert main(["compile", str(small_onnx), "--batch", "2", "--to", "import", "-o", str(tmp_path / "a.mlir"), "-q"]) == 0
    text = (tmp_path / "a.mlir").read_text()
    ((first, second),) = re.findall(r"nn.add\((%\w+), (%\w+)\)", text)
    types = re.search(r"nn.add.*: \((.*), (tensor<4xf32>)\)", text)
    assert types is not None
    swapped = text.replace(f"nn.add({first}, {second})", f"nn.add({second}, {first})")
    (tmp_path / "b.mlir").write_text(swapped.replace(f"({types[1]}, {types[2]})", f"({types[2]}, {types[1]})"))
    (change,) = compared(tmp_path / "a.mlir", tmp_path / "b.mlir").changed
    assert change[1].keys() == {"operands"}

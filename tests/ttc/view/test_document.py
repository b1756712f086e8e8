"""The document of a page: it has the form that its schema says, and holds what the archive and its dump do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.ttc.view.conftest import HOSTILE, Compiled
from ttc.dialects.core.errors import Error
from ttc.view.document import SCHEMA, SCHEMA_FILE, ViewParts, as_json, checked_netlist, document, opened, summary
from ttc.view.dumped_passes import DumpedPasses

VALIDATOR: Any = Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))


def valid(found: dict[str, Any]) -> dict[str, Any]:
    """The document as a reader of the page gets it, after the schema was asked."""
    read = json.loads(as_json(found))
    assert [f"{list(e.absolute_path)}: {e.message[:200]}" for e in VALIDATOR.iter_errors(read)] == []
    return read


def test_the_schema_is_one_and_names_the_version() -> None:
    Draft202012Validator.check_schema(VALIDATOR.schema)
    assert VALIDATOR.schema["properties"]["schema"] == {"const": SCHEMA}


def test_an_archive_alone(compiled: Compiled) -> None:
    found = valid(document(ViewParts(opened(compiled.archive))))
    (stage,) = found["stages"]
    kinds = [op["name"] for op in stage["ops"] if op["kind"] == "op"]
    assert stage["name"] == "netlist"
    assert "matmul" in kinds
    assert "softmax" in kinds
    assert found["device"]["grid"] == [9, 8]
    assert found["signatures"]["forward"]["results"] == [{"name": "y", "kind": "output", "type": "4x64 float32"}]
    (program,) = found["programs"]
    assert program["us"] > 0
    assert len(program["epochs"]) >= 1
    assert found["passes"] == []
    assert found["numbers"] is None
    assert found["other"] is None


def test_ops_point_at_what_feeds_them(compiled: Compiled) -> None:
    found = valid(document(ViewParts(opened(compiled.archive), DumpedPasses(compiled.dump))))
    for stage in found["stages"]:
        for place, op in enumerate(stage["ops"]):
            assert all(0 <= source < place for source in op.get("inputs", [])), (stage["name"], op)
    stages = {stage["name"]: stage["ops"] for stage in found["stages"]}
    assert list(stages) == ["import", "nn", "tile", "netlist"]
    gelu = next(op for op in stages["nn"] if "/block.0/gelu" in op.get("sources", []))
    placed = next(op for op in stages["netlist"] if "/block.0/gelu" in op.get("sources", []))
    assert gelu["weights"] or gelu["inputs"]
    assert placed["place"]["kind"] == "grid"
    assert placed["cost"]["total"] > 0
    assert placed["buffers"]


def test_why_an_op_is_on_the_host(compiled: Compiled) -> None:
    found = valid(document(ViewParts(opened(compiled.archive), DumpedPasses(compiled.dump))))
    name = f"/block.1/{HOSTILE}"
    ops = [op for stage in found["stages"] if stage["name"] == "netlist" for op in stage["ops"] if name in op.get("sources", [])]
    assert {op["place"]["kind"] for op in ops} == {"host"}
    told = [remark["message"] for row in found["passes"] for remark in row["remarks"] if name in remark["sources"]]
    assert told == ["nn.cumsum runs on the host: n150 has no kernel for it"]


def test_weights_have_figures(compiled: Compiled) -> None:
    found = valid(document(ViewParts(opened(compiled.archive))))
    (figures,) = [one for one in found["weights"].values() if one["type"] == "32x64 Float32"]
    assert figures["min"] < figures["mean"] < figures["max"]
    assert sum(figures["histogram"]) == 32 * 64


def test_another_archive(compiled: Compiled) -> None:
    found = valid(document(ViewParts(opened(compiled.archive), other=opened(compiled.other))))["other"]
    assert not found["same"]
    texts = [value for change in found["changed"] for pair in change["fields"].values() for value in pair]
    assert any("Bfp8_b" in text for text in texts)
    assert valid(document(ViewParts(opened(compiled.archive), other=opened(compiled.archive))))["other"]["same"]


def test_a_dump_alone(compiled: Compiled) -> None:
    found = valid(document(ViewParts(dump=DumpedPasses(compiled.dump), title="dump")))
    assert found["title"] == "dump"
    assert found["device"]["target"] == "n150"
    assert [stage["name"] for stage in found["stages"]] == ["import", "nn", "tile", "netlist"]


def test_summary(compiled: Compiled) -> None:
    archive = opened(compiled.archive)
    found = summary(checked_netlist(archive), archive.manifest.description)
    assert found["target"] == "n150"
    assert found["ops"] >= 4
    assert found["programs"][0]["us"] > 0


def test_what_is_no_archive(compiled: Compiled) -> None:
    with pytest.raises(Error, match="E0201") as raised:
        opened(compiled.model)
    assert "ttc compile MODEL" in (raised.value.hint or "")


def test_numbers_that_are_not_finite_are_null() -> None:
    assert as_json({"a": [float("inf"), float("nan"), 1.5], "b": {"c": (1, None)}}) == '{"a":[null,null,1.5],"b":{"c":[1,null]}}'

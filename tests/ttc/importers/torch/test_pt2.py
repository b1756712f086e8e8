"""`.pt2` archives: what torch.export saved is imported; what could run, lead outside or exhaust memory is refused."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from ttc.dialects.core.ir.adapter import print_op  # noqa: E402
from ttc.importers.base import import_model  # noqa: E402
from ttc.importers.torch.definitions import define  # noqa: E402

nn = torch.nn
Members = dict[str, bytes]


class Model(nn.Module):
    """Tied weights, a constant, a state, and an output with a name."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Any) -> dict[str, Any]:
        self.calls += 1
        y = self.second(torch.relu(self.first(x)))
        return {"y": y.view(x.shape[0], 2, -1) * torch.tensor([1.0, 3.0]) + self.calls}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("pt2") / "model.pt2"
    shapes = {"x": {0: torch.export.Dim("batch", min=2, max=16)}}
    torch.export.save(torch.export.export(Model(), (torch.ones(3, 4),), dynamic_shapes=shapes), path)
    return path


def code_of(path: Path, **settings: Any) -> str:
    with pytest.raises(ttc.Error) as caught:
        import_model(path, **settings)
    assert caught.value.where is not None
    assert caught.value.where.startswith(path.name)
    return caught.value.code


def changed(saved: Path, folder: Path, change: Callable[[Members], None]) -> Path:
    """The archive with its members changed, all stored as PyTorch stores them."""
    with zipfile.ZipFile(saved) as archive:
        members = {i.filename: archive.read(i) for i in archive.infolist()}
    change(members)
    path = folder / "changed.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return path


def edited(name: str, edit: Callable[[Any], None]) -> Callable[[Members], None]:
    """A change of one member's JSON."""

    def change(members: Members) -> None:
        (key,) = (k for k in members if k.endswith(name))
        content = json.loads(members[key])
        edit(content)
        members[key] = json.dumps(content).encode()

    return change


def test_archives_agree_with_pytorch(saved: Path) -> None:
    torch.manual_seed(0)
    module = Model()
    with ttc.Executor(ttc.compile(saved, batch=5, target="host")) as executor:
        for _ in range(2):
            x = torch.randn(5, 4)
            np.testing.assert_allclose(executor.run({"x": x.numpy()})["y"], module(x)["y"].detach(), atol=1e-6)


def test_complex_numbers_between_real_ones(tmp_path: Path) -> None:
    """Ops that have a mapping for complex tensors alone."""

    class Spectrum(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.view_as_real(torch.fft.rfft(x))

    x = torch.randn(2, 5)
    path = tmp_path / "spectrum.pt2"
    torch.export.save(torch.export.export(Spectrum(), (x,)), path)
    with ttc.Executor(ttc.compile(path, target="host")) as executor:
        (found,) = executor.run({"x": x.numpy()}).values()
    np.testing.assert_allclose(found, Spectrum()(x), atol=1e-6)


def test_weights_stay_in_the_file(saved: Path) -> None:
    _, weights = import_model(saved, batch=2)
    assert sorted(weights) == ["calls", "first.bias", "first.weight", "second.bias"]
    assert not weights["first.weight"].value().flags.owndata


def test_locations_and_dynamic_dimensions(saved: Path) -> None:
    module, _ = import_model(saved, shapes={"x": (2, 4)})
    assert 'loc(fused["linear", "first", "test_pt2.py:' in print_op(module)
    with pytest.raises(ttc.Error, match="dynamic dimensions") as caught:
        import_model(saved)
    assert (caught.value.code, caught.value.hint) == ("E0205", "fix them: --shape x=2x4 (or --batch 2)")
    assert code_of(saved, batch=17) == "E0206"


def test_subgraphs_constants_and_inputs_that_are_no_tensors(tmp_path: Path) -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x: Any, mask: Any, count: int, pair: Any) -> Any:
            with torch.no_grad():
                y = self.layer(x) * count
            with torch.autocast("cpu", torch.bfloat16):
                z = self.layer(x)
            return {"y": y, "z": z, "w": [torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)), mask, pair[0] + pair[1]]}

    module, path = Mixed(), tmp_path / "mixed.pt2"
    pair = (torch.ones(2), torch.rand(2))
    torch.export.save(torch.export.export(module, (torch.ones(2, 3), None, 4), {"pair": pair}), path)
    executor = ttc.Executor(ttc.compile(path, target="host"))
    for x in (torch.rand(2, 3), -torch.rand(2, 3)):
        found = executor.run({"x": x.numpy(), "pair_0": pair[0].numpy(), "pair_1": pair[1].numpy()})
        expected = module(x, None, 4, pair)
        assert list(found) == ["y", "z", "w.0", "w.2"]
        np.testing.assert_allclose(found["y"], expected["y"].detach(), atol=1e-6)
        np.testing.assert_allclose(found["z"].astype(np.float32), expected["z"].detach().float(), rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose(found["w.0"], expected["w"][0])
        np.testing.assert_allclose(found["w.2"], expected["w"][2])


def test_nothing_is_unpickled(saved: Path, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "ran",)

    def change(members: Members) -> None:
        for name in members:
            if "sample_inputs" in name:
                members[name] = pickle.dumps(Bomb())

    module, _ = import_model(changed(saved, tmp_path, change), batch=2)
    assert module is not None
    assert not (tmp_path / "ran").exists()


def _graph(edit: Callable[[Any], None]) -> Callable[[Members], None]:
    return edited("models/model.json", lambda content: edit(content["graph_module"]["graph"]))


def _first_name(name: str) -> Callable[[Any], None]:
    return lambda graph: graph["nodes"][0].update(name=name)


def _weights(edit: Callable[[Any], None]) -> Callable[[Members], None]:
    return edited("model_weights_config.json", lambda content: edit(content["config"]["first.weight"]))


def _sizes(*sizes: int) -> Callable[[Any], None]:
    return lambda payload: payload["tensor_meta"].update(sizes=[{"as_int": size} for size in sizes])


def _expression(text: str) -> Callable[[Any], None]:
    def edit(graph: Any) -> None:
        sizes = graph["tensor_values"]["x"]["sizes"]
        sizes[0]["as_expr"]["expr_str"] = text

    return edit


def _rename(members: Members, name: str) -> None:
    members[name] = b"x"


HOSTILE: dict[str, tuple[Callable[[Members], None], str]] = {
    "a member outside": (lambda members: _rename(members, "model/../../evil"), "E0203"),
    "an absolute member": (lambda members: _rename(members, "/etc/evil"), "E0203"),
    "a pickled constant": (
        edited("model_weights_config.json", lambda content: content["config"]["first.weight"].update(use_pickle=True)),
        "E0202",
    ),
    "a path out of its folder": (_weights(lambda payload: payload.update(path_name="../x")), "E0202"),
    "a missing weight": (_weights(lambda payload: payload.update(path_name="weight_99")), "E0203"),
    "sizes past the end": (_weights(_sizes(1 << 39, 2)), "E0203"),
    "negative sizes": (_weights(_sizes(-1, 4)), "E0203"),
    "a text as a number": (_weights(lambda payload: payload["tensor_meta"].update(dtype="7")), "E0203"),
    "a program in a name": (_graph(_first_name("x = __import__('os')")), "E0203"),
    "a keyword as a name": (_graph(_first_name("import")), "E0203"),
    "a function of PyTorch": (_graph(lambda graph: graph["nodes"][0].update(target="torch.hub.load")), "E0202"),
    "a function of the operating system": (_graph(lambda graph: graph["nodes"][0].update(target="_operator.os.system")), "E0202"),
    "an op that reads files": (_graph(lambda graph: graph["nodes"][0].update(target="torch.ops.aten.from_file.default")), "E0202"),
    "an unknown op": (_graph(lambda graph: graph["nodes"][0].update(target="torch.ops.mine.evil.default")), "E0202"),
    "an expression that runs": (_graph(_expression("__import__('os').system('true')")), "E0203"),
    "a node that is missing": (_graph(lambda graph: graph["nodes"].pop(0)), "E0203"),
    "a field that is missing": (_graph(lambda graph: graph.pop("nodes")), "E0203"),
    "another version": (edited("models/model.json", lambda content: content.update(schema_version={"major": 99, "minor": 0})), "E0203"),
    "no JSON": (lambda members: members.update({"model/models/model.json": b"[" * 100_000}), "E0203"),
    "two programs": (lambda members: members.update({"model/models/b.json": b"{}"}), "E0202"),
    "pickled weights of older versions": (lambda members: members.update({"model/data/weights/model.pt": b"x"}), "E0202"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archives(saved: Path, tmp_path: Path, what: str) -> None:
    change, code = HOSTILE[what]
    assert code_of(changed(saved, tmp_path, change), batch=2) == code


def test_damaged_zips(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    path = tmp_path / "damaged.pt2"
    for content in (b"", b"PK\3\4", data[:-30], b"x" * 100):
        path.write_bytes(content)
        assert code_of(path) == "E0201"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/models/model.json", b"0" * (1 << 20))
    assert code_of(path) == "E0201"


def test_other_files_of_pytorch(tmp_path: Path) -> None:
    weights = {"w": torch.ones(2)}
    for name, legacy in (("new.pt", False), ("old.pth", True)):
        torch.save(weights, tmp_path / name, _use_new_zipfile_serialization=not legacy)
        assert code_of(tmp_path / name) == "E0201"
    torch.jit.script(nn.Linear(2, 2)).save(tmp_path / "script.pt")
    with pytest.raises(ttc.Error, match="TorchScript") as caught:
        import_model(tmp_path / "script.pt")
    assert "torch.export.save" in str(caught.value.hint)
    with zipfile.ZipFile(tmp_path / "older.pt2", "w") as archive:
        archive.writestr("serialized_exported_program.json", b"{}")
    assert code_of(tmp_path / "older.pt2") == "E0202"


def test_without_pytorch_the_extra_is_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ttc.Error) as caught:
        import_model(saved)
    assert (caught.value.code, caught.value.hint) == ("E0104", "pip install 'ttc[torch]'")


def test_files_in_memory_are_not_models() -> None:
    buffer = io.BytesIO()
    torch.save({}, buffer)
    with pytest.raises(ttc.Error, match="BytesIO"):
        ttc.compile(buffer)


class Experts(nn.Module):
    """A product by groups of rows, as layers of experts of transformers are exported."""

    def forward(self, x: Any, w: Any, ends: Any) -> Any:
        return torch.ops.transformers.grouped_mm_fallback(x, w, ends)


def test_ops_of_a_package_that_is_not_loaded(tmp_path: Path) -> None:
    """Each row meets its group's matrix alone, rows after the last end none; an archive need not find what defined the op."""
    define("transformers.grouped_mm_fallback")
    x, w, ends = torch.randn(40, 8), torch.randn(64, 8, 5), torch.arange(64, dtype=torch.int32) // 2 + 1
    torch.export.save(torch.export.export(Experts(), (x, w, ends), strict=False), tmp_path / "experts.pt2")
    ttc.compile(tmp_path / "experts.pt2", target="host").save(tmp_path / "m.tti")
    with ttc.load(tmp_path / "m.tti") as executor:
        (y,) = executor(x.numpy(), w.numpy(), ends.numpy())
    np.testing.assert_allclose(y, Experts()(x, w, ends).numpy(), atol=1e-5)
    assert np.abs(y[32:]).max() == 0

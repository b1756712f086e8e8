"""Programs of torch.export: what inputs, outputs and weights become, and where ops came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import ttc  # noqa: E402
from ttc.dialects.core.ir.entries import entry_functions, ports  # noqa: E402
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp, ParamOp, StateOp  # noqa: E402
from ttc.dialects.core.ir.locations import source_names  # noqa: E402
from ttc.importers.torch import import_exported, import_module, import_object  # noqa: E402
from ttc.importers.torch.exported import decomposed  # noqa: E402
from ttc.importers.torch.tables import rows  # noqa: E402

nn = torch.nn
X = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))


class Block(nn.Module):
    """A convolution, normalised, in a module of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.norm(self.conv(x)))


class Network(nn.Module):
    """A block and a linear head whose outputs have names."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.head = nn.Linear(4, 5, bias=False)

    def forward(self, image: Any, *, scale: Any) -> dict[str, Any]:
        y = self.block(image).mean((2, 3)) * scale
        return {"logits": self.head(y), "parts": (y, None, image.shape[1])}


def code_of(call: Any, *arguments: Any, **keywords: Any) -> str:
    with pytest.raises(ttc.Error) as caught:
        call(*arguments, **keywords)
    return caught.value.code


def built(module: Any, *args: Any, **settings: Any) -> Any:
    """The entry function of a module called with these."""
    found, _ = import_module(module, args, **settings)
    return entry_functions(found)[0]


def names(function: Any) -> tuple[list[str], list[str]]:
    arguments, results = ports(function)
    return [p.name for p in arguments], [p.name for p in results]


def run(module: Any, *args: Any, **options: Any) -> list[Any]:
    program = ttc.compile(module, args, target="host", **options)
    return list(ttc.Executor(program)(*[a.numpy() for a in args]))


def test_names_locations_and_kinds_of_leaves() -> None:
    module, weights = import_module(Network().eval(), {"image": X, "scale": torch.ones(1, 4)})
    function = entry_functions(module)[0]
    assert names(function) == (["image", "scale"], ["logits", "parts.0", "parts.2"])
    leaves = {source_names(op.location)[0]: type(op) for op in function.walk() if isinstance(op, LeafOp)}
    assert leaves["block.conv.weight"] is leaves["head.weight"] is ParamOp
    assert leaves["block.norm.running_mean"] is ConstantOp
    assert {"block.conv.weight", "head.weight"} <= set(weights)
    conv = next(op for op in function.walk() if op.name == "nn.conv2d")
    node, path, line = source_names(conv.location)
    assert (node, path) == ("conv2d", "block.conv")
    assert line.startswith("test_exported.py:")


def test_compiled_modules_agree_with_pytorch() -> None:
    network = Network().eval()
    scale = torch.rand(1, 4)
    program = ttc.compile(network, {"image": X, "scale": scale}, target="host")
    found = ttc.Executor(program).run({"image": X.numpy(), "scale": scale.numpy()})
    expected = network(X, scale=scale)
    np.testing.assert_allclose(found["logits"], expected["logits"].detach(), atol=1e-6)
    np.testing.assert_allclose(found["parts.0"], expected["parts"][0].detach(), atol=1e-6)
    assert found["parts.2"] == 3


def test_outputs_without_names_have_those_of_the_export() -> None:
    class Two(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x + 1
            return y, y, x

    assert names(built(Two(), X)) == (["x"], ["add", "add_1", "x"])
    assert [y.shape for y in run(Two(), X)] == [X.shape] * 3


def test_fields_of_classes_name_outputs() -> None:
    class Pair(NamedTuple):
        left: Any
        right: Any

    class Named(nn.Module):
        def forward(self, x: Any) -> Any:
            return Pair(x + 1, [x * 2])

    assert names(built(Named(), X))[1] == ["left", "right.0"]


def test_weights_share_memory_and_tied_ones_are_stored_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(16, 8)
            self.head = nn.Linear(8, 16, bias=False)
            self.head.weight = self.embed.weight
            self.narrow = nn.Parameter(torch.ones(8, 4, dtype=torch.bfloat16))
            self.turned = nn.Parameter(torch.randn(4, 8).T)

        def forward(self, ids: Any) -> Any:
            return self.head(self.embed(ids)), self.narrow + 1, self.turned + 1

    module = Tied()
    _, weights = import_module(module, (torch.zeros(2, dtype=torch.int64),))
    assert sorted(weights) == ["embed.weight", "narrow", "turned"]
    assert weights["embed.weight"].value().ctypes.data == module.embed.weight.data_ptr()
    assert weights["narrow"].value().ctypes.data == module.narrow.data_ptr()
    assert weights["narrow"].dtype.name == "bfloat16"
    np.testing.assert_array_equal(weights["turned"].value(), module.turned.detach().numpy())


class Counter(nn.Module):
    """Counts its calls, and keeps the last rows in a ring."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int32))
        self.register_buffer("rows", torch.zeros(4, 3))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.rows.copy_(torch.cat([self.rows[1:], x]))
        return self.rows.sum(0) * self.calls


def test_changed_buffers_are_states_that_persist() -> None:
    module = Counter()
    function = built(module, torch.ones(1, 3))
    assert {op.sym.data for op in function.walk() if isinstance(op, StateOp)} == {"calls", "rows"}
    with ttc.Executor(ttc.compile(module, (torch.ones(1, 3),), target="host")) as executor:
        for step in range(1, 7):
            x = torch.full((1, 3), float(step))
            (found,) = executor(x.numpy())
            np.testing.assert_allclose(found, module(x), rtol=1e-6)


def test_running_statistics_of_training_are_states() -> None:
    module = nn.BatchNorm2d(3, momentum=0.5).train()
    executor = ttc.Executor(ttc.compile(module, (X,), target="host"))
    for step in range(1, 4):
        (found,) = executor((X * step).numpy())
        np.testing.assert_allclose(found, module(X * step).detach(), atol=2e-5)
    states = executor.states()
    np.testing.assert_allclose(states["running_var"], module.running_var, rtol=1e-5)
    assert states["num_batches_tracked"] == 3


def test_states_go_on_as_another_target_has_them(tmp_path: Path) -> None:
    module = nn.BatchNorm2d(3, momentum=0.5).train()
    settings: list[dict[str, Any]] = [{"target": "host"}, {"target": "n150"}, {"target": "host", "format": "Float16_b"}]
    first, *others = (ttc.Executor(ttc.compile(module, (X,), **chosen)) for chosen in settings)
    for step in range(1, 4):
        first((X * step).numpy())
    path = tmp_path / "c.safetensors"
    first.checkpoint(path)
    for bound, executor in zip((1e-6, 4e-3), others, strict=True):
        executor.restore(path)
        for name, value in first.states().items():
            np.testing.assert_allclose(executor.states()[name], value, rtol=bound)
        executor.checkpoint(path)
        executor.restore(path)
    with pytest.raises(ttc.Error) as failure:
        ttc.Executor(ttc.compile(Latest(), (torch.ones(3),), target="host")).restore(path)
    assert failure.value.code == "E0807"


class Cache(nn.Module):
    """Attention over the keys and values of all calls so far, which stand in a cache of fixed length."""

    def __init__(self, length: int = 8, width: int = 4) -> None:
        super().__init__()
        self.project = nn.Linear(width, 3 * width)
        self.register_buffer("keys", torch.zeros(1, length, width))
        self.register_buffer("values", torch.zeros(1, length, width))

    def forward(self, x: Any, position: Any) -> Any:
        query, key, value = self.project(x).chunk(3, -1)
        self.keys.index_copy_(1, position, key)
        self.values.index_copy_(1, position, value)
        seen = torch.arange(self.keys.shape[1])[None, None] <= position
        return nn.functional.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=seen)


def test_a_cache_of_keys_and_values_is_a_state() -> None:
    module = Cache().eval()
    position = torch.zeros(1, dtype=torch.int64)
    executor = ttc.Executor(ttc.compile(module, (torch.randn(1, 1, 4), position), target="host"))
    for step in range(5):
        x, position = torch.randn(1, 1, 4), torch.tensor([step])
        (found,) = executor(x.numpy(), position.numpy())
        np.testing.assert_allclose(found, module(x, position).detach(), atol=1e-6)


class Latest(nn.Module):
    """The latest input, which no call reads."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("latest", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.latest.copy_(x)
        return self.latest * 2


@pytest.mark.parametrize("target", ["host", "n150"])
def test_a_buffer_that_is_only_written_is_a_state(target: str) -> None:
    with ttc.Executor(ttc.compile(Latest(), (torch.ones(3),), target=target)) as executor:
        assert executor.states()["latest"].tolist() == [0, 0, 0]
        assert executor(np.ones(3, np.float32))[0].tolist() == [2, 2, 2]
        assert executor.states()["latest"].tolist() == [1, 1, 1]


def test_views_and_writes_in_place_are_functional() -> None:
    class InPlace(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.clone()
            y[:, 1:] *= 2
            y.view(-1)[::3] = 0
            return y.transpose(1, 2).reshape(2, -1)

    (found,) = run(InPlace(), X)
    np.testing.assert_array_equal(found, InPlace()(X))


def test_constants_numbers_and_numbers_of_data() -> None:
    class Constants(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.arange(8.0)

        def forward(self, x: Any, count: int) -> Any:
            return x * torch.tensor([1.0, 2.0]) * count + self.table[:2], 7, 2.5, True

    args = (torch.ones(3, 2), 3)
    function = built(Constants(), *args)
    assert names(function)[0] == ["x"]
    program = ttc.compile(Constants(), args, target="host")
    found = ttc.Executor(program)(np.ones((3, 2), np.float32))
    np.testing.assert_array_equal(found[0], [[3, 7]] * 3)
    assert [v.item() for v in found[1:]] == [7, 2.5, True]


def shapes_of(module: Any) -> list[tuple[int, ...]]:
    """Shapes of what a module takes."""
    types: Any = entry_functions(module)[0].function_type.inputs.data
    return [t.get_shape() for t in types]


def test_dynamic_dimensions_are_fixed_by_shapes_batch_or_examples() -> None:
    batch = torch.export.Dim("batch", min=2, max=64)
    settings: dict[str, Any] = {"dynamic_shapes": {"image": {0: batch}, "scale": None}}
    args = {"image": X, "scale": torch.ones(1, 4)}

    def first(**sizes: Any) -> tuple[int, ...]:
        module, _ = import_module(Network().eval(), args, **settings, **sizes)
        return shapes_of(module)[0]

    assert first() == (2, 3, 8, 8)
    assert first(batch=5) == (5, 3, 8, 8)
    assert first(shapes={"image": (7, 3, 8, 8)}) == (7, 3, 8, 8)
    assert code_of(first, batch=65) == "E0206"
    assert code_of(first, shapes={"image": (2, 4, 8, 8)}) == "E0206"
    program = torch.export.export(Network().eval(), (), args, **settings)
    assert code_of(import_exported, program) == "E0205"
    swapped = {"scale": torch.ones(1, 4), "image": torch.ones(9, 3, 8, 8)}
    module, _ = import_object(program, swapped)
    assert shapes_of(module)[0] == (9, 3, 8, 8)
    assert code_of(import_object, program, (X,)) == "E0206"


def test_sizes_that_follow_from_each_other() -> None:
    class Sum(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y[: x.shape[0]] + x.shape[0] * 2

    size = torch.export.Dim("size", min=2, max=64)
    shapes = ({0: size}, {0: 2 * size})
    program = torch.export.export(Sum(), (torch.ones(4), torch.ones(8)), dynamic_shapes=shapes)
    module, _ = import_exported(program, shapes={"x": (6,)})
    assert shapes_of(module) == [(6,), (12,)]
    assert code_of(import_exported, program, shapes={"x": (6,), "y": (14,)}) == "E0206"
    found = run(Sum(), torch.ones(5), torch.ones(10), dynamic_shapes=shapes)
    np.testing.assert_array_equal(found[0], np.full(5, 12))


def test_what_cannot_be_imported_is_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(rows(), "aten.atan.default")
    monkeypatch.delitem(rows(), "aten.tan.default")

    class Unsupported(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.atan(torch.tan(torch.atan(x)))

    with pytest.raises(ttc.Error) as caught:
        import_module(Unsupported(), (torch.randn(3, 3),))
    assert caught.value.code == "E0202"
    lines = [line.split() for line in str(caught.value.excerpt).splitlines()[1:]]
    assert [line[:3] for line in lines] == [["atan.default", "aten", "2"], ["tan.default", "aten", "1"]]


def test_errors_of_calls() -> None:
    assert code_of(ttc.compile, nn.Linear(2, 2)) == "E0101"
    assert code_of(ttc.compile, nn.Linear(2, 2), (torch.ones(3, 3),)) == "E0202"
    assert code_of(ttc.compile, torch.ones(2)) == "E0201"
    program = torch.export.export(nn.Linear(2, 2), (torch.ones(1, 2),))
    assert code_of(import_object, program, None, {}) == "E0101"
    assert code_of(ttc.compile, "model.onnx", dynamic_shapes={}) == "E0101"
    assert code_of(import_module, nn.Linear(2, 2).to(torch.complex64), (torch.ones(1, 2, dtype=torch.complex64),)) == "E0202"


def test_complex_results_have_their_parts_last() -> None:
    class Spectrum(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.fft.rfft(x), x + 1

    x = torch.randn(3, 8)
    with ttc.Executor(ttc.compile(Spectrum(), (x,), target="host")) as executor:
        found = executor.run({"x": x.numpy()})
    assert list(found) == ["fft_rfft", "add"]
    assert found["fft_rfft"].dtype == np.float32
    assert np.abs(found["fft_rfft"] - torch.view_as_real(torch.fft.rfft(x)).numpy()).max() < 1e-5


def test_losses_that_are_computed_in_chunks() -> None:
    if not hasattr(nn.functional, "linear_cross_entropy"):
        pytest.skip("this PyTorch has none")
    target, options = torch.tensor([1, -100, 4]), nn.LinearCrossEntropyOptions(batch_chunk_size=2)

    class Loss(nn.Module):
        def forward(self, x: Any, w: Any) -> Any:
            losses = [nn.functional.linear_cross_entropy(x, w, target, options=options, reduction=r) for r in ("mean", "none")]
            return tuple(losses)

    x, w = torch.randn(3, 4), torch.randn(5, 4)
    with torch.no_grad(), ttc.Executor(ttc.compile(Loss(), (x, w), target="host")) as executor:
        found = executor.run({"x": x.numpy(), "w": w.numpy()})
        wanted = Loss()(x, w)
    assert all(np.abs(ours - theirs.numpy()).max() < 1e-5 for ours, theirs in zip(found.values(), wanted, strict=True))


class Dead(torch.nn.Module):
    """A result that nothing reads."""

    def forward(self, x: Any) -> Any:
        x.exp()
        return x.relu()


class Tied(torch.nn.Module):
    """Two buffers of the same memory."""

    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Buffer(torch.ones(3))
        self.b = torch.nn.Buffer(self.a.view(3))

    def forward(self, x: Any) -> Any:
        return x + self.a + self.b


class InPlace(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return (x + 1).relu_()


@pytest.mark.parametrize(
    ("module", "dynamic", "again"),
    [
        (torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.LayerNorm(4)), False, False),
        (torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU()), True, True),
        (torch.nn.CosineSimilarity(), False, True),
        (Dead(), False, True),
        (Tied(), False, True),
        (InPlace(), False, True),
    ],
    ids=["mapped", "dynamic", "unmapped", "dead", "tied", "in place"],
)
def test_what_has_mappings_alone_is_not_traced_again(module: Any, dynamic: bool, again: bool) -> None:
    x = (torch.ones(2, 3), torch.ones(2, 3)) if isinstance(module, torch.nn.CosineSimilarity) else (torch.ones(2, 3),)
    program = torch.export.export(module.eval(), x, dynamic_shapes=[{0: torch.export.Dim("n", min=2)}] if dynamic else None)
    assert (decomposed(program) is not program) == again

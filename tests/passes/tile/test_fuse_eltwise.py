"""Elementwise regions."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation, Use

from tests.passes.tiles import apply, docstring, parse, same
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.eltwise import EltwiseOp
from ttc.passes.manager import run_pass
from ttc.passes.tile.fuse_eltwise import MAX_INPUTS, FuseEltwise


def test_docstring() -> None:
    outcome = docstring(FuseEltwise(), "host", 2e-2)
    (remark,) = outcome.report.remarks
    assert (remark.kind, remark.data) == ("applied", {"ops": 2, "inputs": 2})


def test_a_diamond_and_its_literals_are_one_region() -> None:
    same(
        FuseEltwise(),
        """(%x: Float32[4, 8], %r: Float32[8])
        %c = ttc.constant() {value = #ttc.literal<[0.5], f32[]>} : () -> Float32[]
        %0 = tile.map(%x, %r) {fn = "add"} : (Float32[4, 8], Float32[8]) -> Float32[4, 8]
        %1 = tile.map(%0, %c) {fn = "mul"} : (Float32[4, 8], Float32[]) -> Float32[4, 8]
        %2 = tile.map(%0) {fn = "elu", names = ["alpha"], values = [0.1]} : (Float32[4, 8]) -> Float32[4, 8]
        %3 = tile.map(%1, %2) {fn = "less"} : (Float32[4, 8], Float32[4, 8]) -> UInt8[4, 8]
        %4 = tile.cast(%3) {to = "int64"} : (UInt8[4, 8]) -> Int32[4, 8]
        return %4 : Int32[4, 8]""",
        """(%x: Float32[4, 8], %r: Float32[8])
        %y = tile.eltwise(%x, %r) : (Float32[4, 8], Float32[8]) -> Int32[4, 8] {
        ^bb0(%a: Float32[4, 8], %b: Float32[8]):
          %c = ttc.constant() {value = #ttc.literal<[0.5], f32[]>} : () -> Float32[]
          %0 = tile.map(%a, %b) {fn = "add"} : (Float32[4, 8], Float32[8]) -> Float32[4, 8]
          %1 = tile.map(%0, %c) {fn = "mul"} : (Float32[4, 8], Float32[]) -> Float32[4, 8]
          %2 = tile.map(%0) {fn = "elu", names = ["alpha"], values = [0.1]} : (Float32[4, 8]) -> Float32[4, 8]
          %3 = tile.map(%1, %2) {fn = "less"} : (Float32[4, 8], Float32[4, 8]) -> UInt8[4, 8]
          %4 = tile.cast(%3) {to = "int64"} : (UInt8[4, 8]) -> Int32[4, 8]
          tile.yield(%4) : (Int32[4, 8]) -> ()
        }
        return %y : Int32[4, 8]""",
    )


QUANTIZED = """(%a: Float32[4, 8], %w: Float32[8, 6], %r: Float32[4, 6])
        %s = ttc.constant() {value = #ttc.literal<[0.5], f32[]>} : () -> Float32[]
        %z = ttc.constant() {value = #ttc.literal<[130], ui8[]>} : () -> UInt8[]
        %0 = tile.matmul(%a, %w, _) {transpose_a = false, transpose_b = false} : (Float32[4, 8], Float32[8, 6]) -> Float32[4, 6]
        %1 = tile.map(%0) {fn = "relu"} : (Float32[4, 6]) -> Float32[4, 6]
        %2 = tile.map(%1, %s, %z) {fn = "quantize"} : (Float32[4, 6], Float32[], UInt8[]) -> UInt8[4, 6]
        %3 = tile.map(%2, %s, %z) {fn = "dequantize"} : (UInt8[4, 6], Float32[], UInt8[]) -> Float32[4, 6]
        %4 = tile.map(%3, %r) {fn = "add"} : (Float32[4, 6], Float32[4, 6]) -> Float32[4, 6]
        return %4 : Float32[4, 6]"""


@pytest.mark.parametrize(
    ("old", "new", "regions"),
    [
        ("", "", [2, 2]),  # what quantizes the product, and what adds to it: two ops beside two literals each
        ('%4 = tile.map(%3, %r) {fn = "add"} : (Float32[4, 6], ', '%4 = tile.map(%3, %3) {fn = "add"} : (Float32[4, 6], ', [4]),
        ("%0 = tile.matmul(%a, %w, _) {transpose_a", "%v = tile.matmul(%a, %w, _) {transpose_a", [4]),
        ("return %4 : Float32[4, 6]", "return %0, %4 : Float32[4, 6], Float32[4, 6]", [4]),
    ],
    ids=["a product and another tensor", "a product alone", "no product", "a product that others read"],
)
def test_a_product_is_quantized_by_a_region_of_its_own(old: str, new: str, regions: list[int]) -> None:
    text = QUANTIZED.replace(old, new, 1) if old else QUANTIZED
    outcome = apply(FuseEltwise(), text.replace("tile.map(%0)", "tile.map(%r)") if "%v" in new else text)
    assert [remark.data["ops"] for remark in outcome.report.remarks] == regions


UNCHANGED = {
    "one op": """(%x: Float32[4])
        %0 = tile.map(%x) {fn = "relu"} : (Float32[4]) -> Float32[4]
        return %0 : Float32[4]""",
    "an intermediate that others read": """(%x: Float32[4])
        %0 = tile.map(%x) {fn = "relu"} : (Float32[4]) -> Float32[4]
        %1 = tile.map(%0) {fn = "exp"} : (Float32[4]) -> Float32[4]
        return %0, %1 : Float32[4], Float32[4]""",
    "an intermediate of another shape": """(%x: Float32[4], %z: Float32[2, 4])
        %0 = tile.map(%x) {fn = "relu"} : (Float32[4]) -> Float32[4]
        %1 = tile.map(%0, %z) {fn = "add"} : (Float32[4], Float32[2, 4]) -> Float32[2, 4]
        return %1 : Float32[2, 4]""",
    "an intermediate in another fold": """(%x: Float32[2, 3, 4])
        %0 = tile.map(%x) {fn = "relu"} : (Float32[2, 3, 4]) -> Float32[2, 3, 4]
        %1 = tile.map(%0) {fn = "exp"} : (Float32[2, 3, 4]) -> Float32[2, 3, 4; 2]
        return %1 : Float32[2, 3, 4; 2]""",
    "literals alone": """(%x: Float32[4])
        %c = ttc.constant() {value = #ttc.literal<[0.5], f32[]>} : () -> Float32[]
        %0 = tile.map(%c, %c) {fn = "add"} : (Float32[], Float32[]) -> Float32[]
        return %0 : Float32[]""",
    "a choice between tensors": """(%x: Float32[4], %c: UInt8[])
        %0 = tile.map(%x) {fn = "relu"} : (Float32[4]) -> Float32[4]
        %1 = tile.map(%c, %0, %x) {fn = "where"} : (UInt8[], Float32[4], Float32[4]) -> Float32[4]
        %2 = tile.map(%1) {fn = "exp"} : (Float32[4]) -> Float32[4]
        return %2 : Float32[4]""",
    "a literal that enlarges the result": """(%x: Float32[4])
        %c = ttc.constant() {value = #ttc.literal<[0.5], f32[1, 1]>} : () -> Float32[1, 1]
        %0 = tile.map(%x, %c) {fn = "add"} : (Float32[4], Float32[1, 1]) -> Float32[1, 4]
        return %0 : Float32[1, 4]""",
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_stays(case: str) -> None:
    same(FuseEltwise(), UNCHANGED[case], UNCHANGED[case])


def test_a_single_op_takes_its_literal_in() -> None:
    outcome = apply(
        FuseEltwise(),
        """(%x: Float16_b[4])
        %c = ttc.constant() {value = #ttc.literal<[0.1], f32[]>} : () -> Float32[]
        %0 = tile.map(%x, %c) {fn = "mul"} : (Float16_b[4], Float32[]) -> Float16_b[4]
        %1 = tile.reshape(%0) {shape = [2, 2]} : (Float16_b[4]) -> Float16_b[2, 2]
        return %1 : Float16_b[2, 2]""",
    )
    assert outcome.names() == ["tile.eltwise", "tile.reshape"]
    assert outcome.ops("ttc.constant") == []


def sum_of(count: int) -> str:
    """A chain of additions of `count` tensors."""
    arguments = ", ".join(f"%x{i}: Float32[4]" for i in range(count))
    lines = [
        f'%s{i} = tile.map({"%x0" if i == 1 else f"%s{i - 1}"}, %x{i}) {{fn = "add"}} : (Float32[4], Float32[4]) -> Float32[4]'
        for i in range(1, count)
    ]
    return "\n".join([f"({arguments})", *lines, f"return %s{count - 1} : Float32[4]"])


@pytest.mark.parametrize(("count", "regions"), [(MAX_INPUTS, 1), (MAX_INPUTS + 1, 1), (2 * MAX_INPUTS - 1, 2), (40, 6)])
def test_a_region_reads_few_tensors(count: int, regions: int) -> None:
    outcome = apply(FuseEltwise(), sum_of(count))
    found = outcome.ops("tile.eltwise")
    assert len(found) == regions
    assert all(len(op.operands) <= MAX_INPUTS for op in found)
    assert (outcome.missed() != []) == (count > MAX_INPUTS)


def test_a_region_is_located_at_all_its_ops_and_keeps_its_format() -> None:
    outcome = apply(FuseEltwise(), sum_of(4).replace("Float32", "Float16_b"), tolerance=5e-2)
    (op,) = outcome.ops("tile.eltwise")
    assert source_names(op.location) == ("s1", "s2", "s3")
    assert tile_of(op.results[0]).format == "Float16_b"
    assert [tile_of(inner.results[0]).format for inner in op.regions[0].block.ops if inner.results] == ["Float32"] * 3


def polynomial(count: int) -> str:
    """A chain of products of one tensor with `count` numbers."""
    lines = []
    for i in range(count):
        before = "%x" if i == 0 else f"%m{i - 1}"
        lines.append(f"%c{i} = ttc.constant() {{value = #ttc.literal<[{i + 1}.5], f32[]>}} : () -> Float32[]")
        lines.append(f'%m{i} = tile.map({before}, %c{i}) {{fn = "mul"}} : (Float32[4], Float32[]) -> Float32[4]')
    return "\n".join(["(%x: Float32[4])", *lines, f"return %m{count - 1} : Float32[4]"])


@pytest.mark.parametrize(("numbers", "count", "regions"), [(False, 20, 1), (True, MAX_INPUTS - 1, 1), (True, MAX_INPUTS, 2), (True, 20, 3)])
def test_numbers_count_where_kernels_hold_none(numbers: bool, count: int, regions: int) -> None:
    outcome = apply(FuseEltwise(numbers=numbers), polynomial(count))
    assert len(outcome.ops("tile.eltwise")) == regions


def readers_looked_at(count: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many uses of values the pass looks at where so many sums of one value are one region."""
    lines = [f'%{i + 1} = tile.map(%{i}, %s) {{fn = "add"}} : (Float32[4], Float32[4]) -> Float32[4]' for i in range(count)]
    first = '%s = tile.map(%x) {fn = "exp"} : (Float32[4]) -> Float32[4]'
    second = '%0 = tile.map(%s) {fn = "neg"} : (Float32[4]) -> Float32[4]'
    unit = parse("\n".join(["(%x: Float32[4])", first, second, *lines, f"return %{count} : Float32[4]"]), "host")
    looked, operation = [0], Use.operation.fget
    assert operation is not None

    def counted(use: Use) -> Operation:
        looked[0] += 1
        return operation(use)

    with monkeypatch.context() as patch:
        patch.setattr(Use, "operation", property(counted))
        run_pass(FuseEltwise(), unit)
    (fused,) = [op for op in unit.module.walk() if isinstance(op, EltwiseOp)]
    assert len(fused.regions[0].block.ops) == count + 3
    return looked[0]


def test_work_grows_with_the_readers_of_a_value_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    assert readers_looked_at(400, monkeypatch) < 5 * readers_looked_at(100, monkeypatch)

"""The rows against PyTorch's own list of operators."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: it has no build for this Python")

from ttc.importers.torch.tables import ROWS  # noqa: E402

SIZES = {f"aten.{name}" for name in ("sym_is_contiguous.default", "sym_numel.default", "sym_size.int", "sym_stride.int")}
"""Core operators on sizes, which are numbers and no nodes of their own here."""
UNSUPPORTED = {
    *(
        "aten._local_scalar_dense.default",
        "aten.sym_storage_offset.default",
        "aten.resize_.default",
        "aten.atan2.out",
        "aten.col2im.default",
    ),
    *("aten._native_batch_norm_legit.default", "aten.var.dim"),
    *(f"aten.{name}_backward.default" for name in ("embedding_dense", "native_group_norm", "native_layer_norm")),
}
ELSEWHERE = ("higher_order.", "quantized_decomposed.", "transformers.", "ttc.")
"""Operators that a library registers when it is imported."""


def core() -> set[str]:
    """Names of all overloads of PyTorch's core operators."""
    found: set[str] = set()
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        op, _, overload = rest.partition(".")
        packet = getattr(torch.ops.aten, op, None) if namespace == "aten" else None
        entry = getattr(packet, overload or "default", None)
        if entry is not None and torch.Tag.core in entry.tags:
            found.add(f"aten.{op}.{overload or 'default'}")
    return found


def test_every_core_operator_has_a_row_or_is_known_to_have_none() -> None:
    assert core() - ROWS.rules().keys() == SIZES | UNSUPPORTED


def test_every_row_is_of_an_overload_that_exists() -> None:
    unknown = set[str]()
    for name in ROWS.rules():
        namespace, op, *overload = name.split(".")
        packet = getattr(getattr(torch.ops, namespace), op, None)
        if not name.startswith(ELSEWHERE) and not hasattr(packet, overload[0]):
            unknown.add(name)
    assert unknown == set()


def test_a_row_that_is_taken_out_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ROWS.rules(), "aten._softmax.default")
    assert "aten._softmax.default" in core() - ROWS.rules().keys()

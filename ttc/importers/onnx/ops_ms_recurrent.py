"""Recurrent layers of onnxruntime's domain, whose weights are 8-bit integers."""

from __future__ import annotations

from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.ops_quantization import dynamic_quantize_linear_11
from ttc.importers.onnx.ops_recurrent import NO_CLIP, lstm_1
from ttc.importers.onnx.tables import MAPPINGS

Floats: TypeAlias = tuple[float, ...]
Strings: TypeAlias = tuple[str, ...]


@MAPPINGS.rule("com.microsoft.DynamicQuantizeLSTM-1")
def dynamic_quantize_lstm_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    r: SSAValue,
    bias: SSAValue | None,
    lengths: SSAValue | None,
    h: SSAValue | None,
    c: SSAValue | None,
    peepholes: SSAValue | None,
    w_scale: SSAValue,
    w_zero: SSAValue,
    r_scale: SSAValue,
    r_zero: SSAValue,
    *,
    activation_alpha: Floats = (),
    activation_beta: Floats = (),
    activations: Strings = (),
    clip: float = NO_CLIP,
    direction: str = "forward",
    hidden_size: int = 0,
    input_forget: int = 0,
) -> tuple[SSAValue, ...]:
    """Map an LSTM of weights w[d, i, 4 k] and r[d, k, 4 k] in integers.

    The input goes through the 8 bits that onnxruntime gives it; the state between steps stays what it is, which is more exact.
    """
    codes, scale, zero = dynamic_quantize_linear_11(b, x)
    x = b.nn("dequantize", codes, scale, zero)
    w, r = _weights(b, w, w_scale, w_zero), _weights(b, r, r_scale, r_zero)
    return lstm_1(
        b,
        *(x, w, r, bias, lengths, h, c, peepholes),
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        input_forget=input_forget,
    )


def _weights(b: Builder, codes: SSAValue, scale: SSAValue, zero: SSAValue) -> SSAValue:
    """Real weights as ONNX lays them, [d, 4 k, n]; the scale is one a direction, or one a direction and column."""
    shape = b.shape(codes)
    if len(shape) != 3:
        raise Error("E0401", f"takes weights of rank 3, not {b.spec(codes)}")
    scale, zero = (b.reshape(v, shape[0], 1, b.spec(v).elements // max(shape[0], 1)) for v in (scale, zero))
    return b.nn("transpose", b.nn("dequantize", codes, scale, zero), perm=(0, 2, 1))

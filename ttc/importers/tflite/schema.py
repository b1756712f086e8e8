"""TFLite's schema as data: types, ops by code, and the options that ops carry, field by field.

Source: the numbers of fields and enumerations in TensorFlow's lite/schema/schema.fbs, version 3.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

IDENTIFIER = b"TFL3"
VERSION = 3

TENSOR_TYPES = tuple(
    "FLOAT32 FLOAT16 INT32 UINT8 INT64 STRING BOOL INT16 COMPLEX64 INT8 FLOAT64 COMPLEX128 UINT64 RESOURCE VARIANT UINT32 UINT16 INT4"
    " BFLOAT16 INT2 UINT4".split()
)
PACKED = {"INT4": (4, True), "UINT4": (4, False), "INT2": (2, True)}
"""Types of less than a byte, packed from the low bits on: their bits, and whether they are signed.  Imported as bytes."""


@cache
def dtypes() -> dict[str, np.dtype]:
    """Return types that tensors of a module can have, by TFLite's name."""
    import ml_dtypes

    plain = "FLOAT32 FLOAT16 INT32 UINT8 INT64 BOOL INT16 INT8 FLOAT64 UINT64 UINT32 UINT16".split()
    found = {name: np.dtype(name.lower()) for name in plain}
    found["BFLOAT16"] = np.dtype(ml_dtypes.bfloat16)
    return found | {name: np.dtype(np.int8 if signed else np.uint8) for name, (_, signed) in PACKED.items()}


ENUMS: dict[str, tuple[str, ...]] = {
    "type": TENSOR_TYPES,
    "padding": ("SAME", "VALID"),
    "activation": ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"),
    "weights_format": ("DEFAULT", "SHUFFLED4x16INT8"),
    "lstm_kernel": ("FULL", "BASIC"),
    "combiner": ("SUM", "MEAN", "SQRTN"),
    "mirror": ("REFLECT", "SYMMETRIC"),
    "window_function": ("UNSUPPORTED", "ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY"),
    "lsh": ("UNKNOWN", "SPARSE", "DENSE"),
    "custom_padding": ("UNKNOWN", "SAME", "VALID"),
}

OPERATORS = tuple(
    "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED"
    " HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU"
    " RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM"
    " EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE"
    " UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE"
    " BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN"
    " TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD"
    " REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD"
    " RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE"
    " RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4"
    " NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE"
    " BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL"
    " CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM"
    " MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2"
    " UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY"
    " STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION"
    " STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL"
    " STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT"
    " STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE"
    " STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT"
    " STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE"
    " STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE".split()
)
"""Names of TFLite's operators, by builtin code."""


class Field(NamedTuple):
    """A field of an options table, whose number is its place among them.  kind: a scalar's, `[kind]` of a vector, or an enumeration."""

    name: str
    kind: str
    default: float


_ACTIVATION = "fused_activation_function:activation"
_CONV = f"padding:padding stride_w:i4 stride_h:i4 {_ACTIVATION} dilation_w_factor:i4=1 dilation_h_factor:i4=1 quantized_bias_type:type"
_CONV_3D = (
    f"padding:padding stride_d:i4 stride_w:i4 stride_h:i4 {_ACTIVATION} dilation_d_factor:i4=1 dilation_w_factor:i4=1"
    " dilation_h_factor:i4=1"
)
_POOL = f"padding:padding stride_w:i4 stride_h:i4 filter_width:i4 filter_height:i4 {_ACTIVATION}"
_OPTIONS: dict[str, tuple[str, str]] = {
    "ADD": ("AddOptions", f"{_ACTIVATION} pot_scale_int16:b1=1"),
    "ARG_MAX": ("ArgMaxOptions", "output_type:type"),
    "ARG_MIN": ("ArgMinOptions", "output_type:type"),
    "AVERAGE_POOL_2D": ("Pool2DOptions", _POOL),
    "BATCH_MATMUL": ("BatchMatMulOptions", "adj_x:b1 adj_y:b1 asymmetric_quantize_inputs:b1"),
    "BIDIRECTIONAL_SEQUENCE_LSTM": (
        "BidirectionalSequenceLSTMOptions",
        f"{_ACTIVATION} cell_clip:f4 proj_clip:f4 merge_outputs:b1 time_major:b1=1 asymmetric_quantize_inputs:b1",
    ),
    "BIDIRECTIONAL_SEQUENCE_RNN": (
        "BidirectionalSequenceRNNOptions",
        f"time_major:b1 {_ACTIVATION} merge_outputs:b1 asymmetric_quantize_inputs:b1",
    ),
    "BUCKETIZE": ("BucketizeOptions", "boundaries:[f4]"),
    "CALL": ("CallOptions", "subgraph:u4"),
    "CALL_ONCE": ("CallOnceOptions", "init_subgraph_index:i4"),
    "CAST": ("CastOptions", "in_data_type:type out_data_type:type"),
    "CONCATENATION": ("ConcatenationOptions", f"axis:i4 {_ACTIVATION}"),
    "CONV_2D": ("Conv2DOptions", _CONV),
    "CONV_3D": ("Conv3DOptions", _CONV_3D),
    "CONV_3D_TRANSPOSE": ("Conv3DOptions", _CONV_3D),
    "CUMSUM": ("CumsumOptions", "exclusive:b1 reverse:b1"),
    "DEPTHWISE_CONV_2D": (
        "DepthwiseConv2DOptions",
        f"padding:padding stride_w:i4 stride_h:i4 depth_multiplier:i4 {_ACTIVATION} dilation_w_factor:i4=1 dilation_h_factor:i4=1",
    ),
    "DEPTH_TO_SPACE": ("DepthToSpaceOptions", "block_size:i4"),
    "DIV": ("DivOptions", _ACTIVATION),
    "EMBEDDING_LOOKUP_SPARSE": ("EmbeddingLookupSparseOptions", "combiner:combiner"),
    "FAKE_QUANT": ("FakeQuantOptions", "min:f4 max:f4 num_bits:i4 narrow_range:b1"),
    "FULLY_CONNECTED": (
        "FullyConnectedOptions",
        f"{_ACTIVATION} weights_format:weights_format keep_num_dims:b1 asymmetric_quantize_inputs:b1 quantized_bias_type:type",
    ),
    "GATHER": ("GatherOptions", "axis:i4 batch_dims:i4"),
    "GELU": ("GeluOptions", "approximate:b1"),
    "IF": ("IfOptions", "then_subgraph_index:i4 else_subgraph_index:i4"),
    "L2_NORMALIZATION": ("L2NormOptions", _ACTIVATION),
    "L2_POOL_2D": ("Pool2DOptions", _POOL),
    "LEAKY_RELU": ("LeakyReluOptions", "alpha:f4"),
    "LOCAL_RESPONSE_NORMALIZATION": ("LocalResponseNormalizationOptions", "radius:i4 bias:f4 alpha:f4 beta:f4"),
    "LSTM": ("LSTMOptions", f"{_ACTIVATION} cell_clip:f4 proj_clip:f4 kernel_type:lstm_kernel asymmetric_quantize_inputs:b1"),
    "MAX_POOL_2D": ("Pool2DOptions", _POOL),
    "MEAN": ("ReducerOptions", "keep_dims:b1"),
    "MIRROR_PAD": ("MirrorPadOptions", "mode:mirror"),
    "MUL": ("MulOptions", _ACTIVATION),
    "ONE_HOT": ("OneHotOptions", "axis:i4"),
    "PACK": ("PackOptions", "values_count:i4 axis:i4"),
    "RANDOM_UNIFORM": ("RandomOptions", "seed:i8 seed2:i8"),
    "RANDOM_STANDARD_NORMAL": ("RandomOptions", "seed:i8 seed2:i8"),
    "REDUCE_ALL": ("ReducerOptions", "keep_dims:b1"),
    "REDUCE_ANY": ("ReducerOptions", "keep_dims:b1"),
    "REDUCE_MAX": ("ReducerOptions", "keep_dims:b1"),
    "REDUCE_MIN": ("ReducerOptions", "keep_dims:b1"),
    "REDUCE_PROD": ("ReducerOptions", "keep_dims:b1"),
    "RESHAPE": ("ReshapeOptions", "new_shape:[i4]"),
    "RESIZE_BILINEAR": ("ResizeBilinearOptions", "new_height:i4 new_width:i4 align_corners:b1 half_pixel_centers:b1"),
    "RESIZE_NEAREST_NEIGHBOR": ("ResizeNearestNeighborOptions", "align_corners:b1 half_pixel_centers:b1"),
    "REVERSE_SEQUENCE": ("ReverseSequenceOptions", "seq_dim:i4 batch_dim:i4"),
    "RNN": ("RNNOptions", f"{_ACTIVATION} asymmetric_quantize_inputs:b1"),
    "SHAPE": ("ShapeOptions", "out_type:type"),
    "SOFTMAX": ("SoftmaxOptions", "beta:f4"),
    "SPACE_TO_DEPTH": ("SpaceToDepthOptions", "block_size:i4"),
    "SPARSE_TO_DENSE": ("SparseToDenseOptions", "validate_indices:b1"),
    "SPLIT": ("SplitOptions", "num_splits:i4"),
    "SPLIT_V": ("SplitVOptions", "num_splits:i4"),
    "SQUEEZE": ("SqueezeOptions", "squeeze_dims:[i4]"),
    "STRIDED_SLICE": (
        "StridedSliceOptions",
        "begin_mask:i4 end_mask:i4 ellipsis_mask:i4 new_axis_mask:i4 shrink_axis_mask:i4 offset:b1",
    ),
    "SUB": ("SubOptions", f"{_ACTIVATION} pot_scale_int16:b1=1"),
    "SUM": ("ReducerOptions", "keep_dims:b1"),
    "SVDF": ("SVDFOptions", f"rank:i4 {_ACTIVATION} asymmetric_quantize_inputs:b1"),
    "TRANSPOSE_CONV": ("TransposeConvOptions", f"padding:padding stride_w:i4 stride_h:i4 {_ACTIVATION} quantized_bias_type:type"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (
        "UnidirectionalSequenceLSTMOptions",
        f"{_ACTIVATION} cell_clip:f4 proj_clip:f4 time_major:b1 asymmetric_quantize_inputs:b1 diagonal_recurrent_tensors:b1",
    ),
    "UNIDIRECTIONAL_SEQUENCE_RNN": ("SequenceRNNOptions", f"time_major:b1 {_ACTIVATION} asymmetric_quantize_inputs:b1"),
    "UNIQUE": ("UniqueOptions", "idx_out_type:type=2"),
    "UNPACK": ("UnpackOptions", "num:i4 axis:i4"),
    "VAR_HANDLE": ("VarHandleOptions", "container:text shared_name:text"),
    "WHILE": ("WhileOptions", "cond_subgraph_index:i4 body_subgraph_index:i4"),
}
"""Ops whose options say something: the table that holds them, and its fields."""
HINTS = frozenset({"asymmetric_quantize_inputs", "quantized_bias_type", "pot_scale_int16", "validate_indices", "in_data_type"})
"""Fields that do not change what an op means: how kernels compute, and what tensors say themselves."""
UNION = tuple(
    "NONE Conv2DOptions DepthwiseConv2DOptions ConcatEmbeddingsOptions LSHProjectionOptions Pool2DOptions SVDFOptions RNNOptions"
    " FullyConnectedOptions SoftmaxOptions ConcatenationOptions AddOptions L2NormOptions LocalResponseNormalizationOptions LSTMOptions"
    " ResizeBilinearOptions CallOptions ReshapeOptions SkipGramOptions SpaceToDepthOptions EmbeddingLookupSparseOptions MulOptions"
    " PadOptions GatherOptions BatchToSpaceNDOptions SpaceToBatchNDOptions TransposeOptions ReducerOptions SubOptions DivOptions"
    " SqueezeOptions SequenceRNNOptions StridedSliceOptions ExpOptions TopKV2Options SplitOptions LogSoftmaxOptions CastOptions"
    " DequantizeOptions MaximumMinimumOptions ArgMaxOptions LessOptions NegOptions PadV2Options GreaterOptions GreaterEqualOptions"
    " LessEqualOptions SelectOptions SliceOptions TransposeConvOptions SparseToDenseOptions TileOptions ExpandDimsOptions EqualOptions"
    " NotEqualOptions ShapeOptions PowOptions ArgMinOptions FakeQuantOptions PackOptions LogicalOrOptions OneHotOptions LogicalAndOptions"
    " LogicalNotOptions UnpackOptions FloorDivOptions SquareOptions ZerosLikeOptions FillOptions BidirectionalSequenceLSTMOptions"
    " BidirectionalSequenceRNNOptions UnidirectionalSequenceLSTMOptions FloorModOptions RangeOptions ResizeNearestNeighborOptions"
    " LeakyReluOptions SquaredDifferenceOptions MirrorPadOptions AbsOptions SplitVOptions UniqueOptions ReverseV2Options AddNOptions"
    " GatherNdOptions CosOptions WhereOptions RankOptions ReverseSequenceOptions MatrixDiagOptions QuantizeOptions MatrixSetDiagOptions"
    " HardSwishOptions IfOptions WhileOptions DepthToSpaceOptions NonMaxSuppressionV4Options NonMaxSuppressionV5Options ScatterNdOptions"
    " SelectV2Options DensifyOptions SegmentSumOptions BatchMatMulOptions CumsumOptions CallOnceOptions BroadcastToOptions Rfft2dOptions"
    " Conv3DOptions HashtableOptions HashtableFindOptions HashtableImportOptions HashtableSizeOptions VarHandleOptions ReadVariableOptions"
    " AssignVariableOptions RandomOptions BucketizeOptions GeluOptions DynamicUpdateSliceOptions UnsortedSegmentProdOptions"
    " UnsortedSegmentMaxOptions UnsortedSegmentMinOptions UnsortedSegmentSumOptions ATan2Options SignOptions BitcastOptions"
    " BitwiseXorOptions RightShiftOptions".split()
)
"""Kinds of option tables, by the number that says which one an op carries."""


_OPTIONS_2: dict[str, tuple[int, str]] = {
    "REDUCE_WINDOW": (20, "reduce_function:window_function"),
    "STABLEHLO_COMPOSITE": (21, "name:text decomposition_subgraph_index:i4"),
}
"""Newer ops, whose options lie in a second union: the number of their table in it, and its fields."""


class Options(NamedTuple):
    """The options of an op: whether in the second union, the kind of table they lie in, by its number, and its fields."""

    second: bool
    table: int
    fields: tuple[Field, ...]


CUSTOM_OPTIONS = {"Convolution2DTransposeBias": "custom_padding stride_w stride_h"}
"""Custom ops that have a definition, and the words of 32 bits that their options begin with; those of ENUMS are enumerations, which the
mappings know without `custom_`."""


@cache
def options_of(op: str) -> Options | None:
    """Return the options of an op by name; None if it has none."""
    if op in _OPTIONS_2:
        number, text = _OPTIONS_2[op]
        return Options(True, number, _fields(text))
    if op not in _OPTIONS:
        return None
    table, text = _OPTIONS[op]
    return Options(False, UNION.index(table), _fields(text))


def _fields(text: str) -> tuple[Field, ...]:
    found: list[Field] = []
    for entry in text.split():
        name, _, kind = entry.partition(":")
        kind, _, default = kind.partition("=")
        found.append(Field(name, kind, float(default or 0)))
    return tuple(found)

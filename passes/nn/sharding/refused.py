"""Ops that every chip computes as a whole, by reason."""

from ttc.passes.nn.sharding import SHARDING

SHARDING.refuse(
    "chips divide no images", "conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d", "batch_norm", "resize", "resize_by", "deform_conv"
)
SHARDING.refuse("chips divide no images", "grid_sample", "roi_align", "decode_image", "non_max_suppression")
SHARDING.refuse(
    "every chip has the tables", "gather", "gather_elements", "gather_nd", "grouped_matmul", "scatter_elements", "tree_ensemble"
)
SHARDING.refuse(
    "every chip has all elements that it combines", "reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "det"
)
SHARDING.refuse(
    "its elements depend on those before them", "argmax", "argmin", "cumsum", "cumprod", "topk", "unique", "reverse_sequence", "row_blocks"
)
SHARDING.refuse("its elements move", "pad", "repeat", "shape", "range", "one_hot", "non_zero", "compress")
SHARDING.refuse("it is the host's", "bitcast", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right", "quantize")
SHARDING.refuse("it is the host's", "dequantize", "dynamic_expand", "dynamic_reshape", "dynamic_slice", "probe", "host_call")
SHARDING.refuse("it is the host's", "solve", "cholesky", "qr", "lu", "svd", "eigh", "couple_probabilities", "fft", "irfft")
SHARDING.refuse("it is not exported", "branch", "loop", "require", "rnn", "gru", "lstm", "batch_norm_training", "dropout")
SHARDING.refuse("it is not exported", "attention_training", "attention_gradient", "lstm_training", "recurrent_gradient")
SHARDING.refuse("it is not exported", "random_uniform", "random_normal")
SHARDING.refuse("it is not exported", "sequence_insert", "sequence_erase", "sequence_at", "sequence_join")
SHARDING.refuse("it is not exported", "string_concat", "string_split", "string_normalize", "regex_full_match", "string_index")

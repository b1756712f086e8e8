"""Ops that no call of torch computes here: the device does, or nothing."""

from ttc.exporters.ttnn.host import HOST_RULES

_DEVICE = "floating point is the device's"
HOST_RULES.refuse(_DEVICE, "gelu", "gelu_tanh", "leaky_relu", "elu", "hard_sigmoid", "attention", "conv2d", "conv_transpose2d")
HOST_RULES.refuse(_DEVICE, "matmul", "grouped_matmul", "batch_norm", "layer_norm", "rms_norm", "max_pool2d", "avg_pool2d")
HOST_RULES.refuse(_DEVICE, "rotary_embedding", "softmax", "log_softmax", "reduce_mean")
HOST_RULES.refuse(_DEVICE, "floor", "ceil", "round", "erf", "tanh", "sigmoid", "silu", "softplus")
HOST_RULES.refuse(_DEVICE, "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "hard_swish")
HOST_RULES.refuse(
    "training is not exported", "batch_norm_training", "attention_training", "attention_gradient", "lstm_training", "recurrent_gradient"
)
HOST_RULES.refuse(
    "torch computes it otherwise, or not at all", "det", "solve", "cholesky", "qr", "lu", "svd", "eigh", "fft", "irfft", "bitcast"
)
HOST_RULES.refuse(
    "torch computes it otherwise, or not at all", "grid_sample", "roi_align", "deform_conv", "resize", "resize_by", "scatter_nd"
)
HOST_RULES.refuse(
    "torch computes it otherwise, or not at all", "rnn", "gru", "lstm", "reverse_sequence", "decode_image", "non_max_suppression"
)
HOST_RULES.refuse("torch computes it otherwise, or not at all", "tree_ensemble", "couple_probabilities", "probe")
HOST_RULES.refuse(
    "shapes have to be known", "dynamic_reshape", "dynamic_expand", "dynamic_slice", "non_zero", "compress", "unique", "one_hot", "range"
)
HOST_RULES.refuse("the exported program has one path", "branch", "loop", "require", "row_blocks")
HOST_RULES.refuse("sequences and text are not exported", "sequence_insert", "sequence_erase", "sequence_at", "sequence_join")
HOST_RULES.refuse(
    "sequences and text are not exported", "string_concat", "string_split", "string_normalize", "regex_full_match", "string_index"
)
HOST_RULES.refuse("random numbers would be others", "random_uniform", "random_normal", "dropout")
HOST_RULES.refuse("a function of Python is the process's that compiled the model", "host_call")

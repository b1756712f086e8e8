"""Ops that TT-NN has no kernel for, or that are computed on the host alone, by reason."""

from ttc.exporters.ttnn.rules import RULES

RULES.refuse("integers are the host's", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right", "quantize", "dequantize")
RULES.refuse("bits are not taken for another type", "bitcast")
RULES.refuse("a program for the device has one path", "branch", "loop", "require", "row_blocks")
RULES.refuse(
    "shapes have to be known", "dynamic_reshape", "dynamic_expand", "dynamic_slice", "non_zero", "compress", "unique", "one_hot", "range"
)
RULES.refuse("sequences of tensors are none of the device's", "sequence_insert", "sequence_erase", "sequence_at", "sequence_join")
RULES.refuse("text is none of the device's", "string_concat", "string_split", "string_normalize", "regex_full_match", "string_index")
RULES.refuse("factorizations have no kernel on the device", "solve", "cholesky", "qr", "lu", "svd", "eigh")
RULES.refuse("recurrent layers are cut into steps before; one that is left reads its lengths while it runs", "rnn", "gru", "lstm")
RULES.refuse("images are decoded by the host before the model", "decode_image")
RULES.refuse("random numbers of the device are others", "random_uniform", "random_normal", "dropout")
RULES.refuse("trees have no kernel on the device", "tree_ensemble", "couple_probabilities")
RULES.refuse("boxes are chosen on the host", "non_max_suppression")
RULES.refuse("its samples lie at computed places", "grid_sample", "roi_align", "deform_conv", "resize_by")
RULES.refuse("resizing is cut into products before; what is left has no kernel", "resize")
RULES.refuse("elements at computed places are the host's", "topk", "reverse_sequence")
RULES.refuse("transforms are cut into products before; what is left has no kernel", "fft", "irfft")
RULES.refuse("a value that is shown is an output", "probe")
RULES.refuse("a function of Python is the process's that compiled the model", "host_call")
RULES.refuse("attention in training is written out before", "attention_training", "attention_gradient")
RULES.refuse("layers in training are cut into steps before; these have too many", "lstm_training", "recurrent_gradient")

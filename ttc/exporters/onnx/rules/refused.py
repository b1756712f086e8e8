"""Ops that no node stands for, by reason."""

from ttc.exporters.onnx.rules import NODE_RULES

NODE_RULES.refuse("bits are not taken for another type in ONNX", "bitcast")
NODE_RULES.refuse("branches and loops are not exported", "branch", "loop", "require", "row_blocks")
NODE_RULES.refuse("shapes have to be known", "dynamic_reshape", "dynamic_expand", "dynamic_slice", "resize_by", "unique")
NODE_RULES.refuse("sequences and text are not exported", "sequence_insert", "sequence_erase", "sequence_at", "sequence_join")
NODE_RULES.refuse(
    "sequences and text are not exported", "string_concat", "string_split", "string_normalize", "regex_full_match", "string_index"
)
NODE_RULES.refuse("ONNX has no factorizations", "solve", "cholesky", "qr", "lu", "svd", "eigh")
NODE_RULES.refuse(
    "recurrent layers are exported as their steps, of which there are too many, or whose number data decides", "rnn", "gru", "lstm"
)
NODE_RULES.refuse("images are decoded before the model", "decode_image")
NODE_RULES.refuse("random numbers would be others", "random_uniform", "random_normal", "dropout")
NODE_RULES.refuse("trees are not exported", "tree_ensemble", "couple_probabilities")
NODE_RULES.refuse("boxes are not chosen in exported models", "non_max_suppression")
NODE_RULES.refuse("sampling at computed places is not exported", "grid_sample", "roi_align", "deform_conv")
NODE_RULES.refuse("Fourier transforms are exported as products; this one is too large for that", "fft", "irfft")
NODE_RULES.refuse("a function of Python is the process's that compiled the model", "host_call")
NODE_RULES.refuse("a value that is shown is an output", "probe")
NODE_RULES.refuse("attention in training is written out before", "attention_training", "attention_gradient")
NODE_RULES.refuse("layers in training are cut into steps before; these have too many", "lstm_training", "recurrent_gradient")

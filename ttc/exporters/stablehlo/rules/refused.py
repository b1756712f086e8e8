"""Ops that no text of StableHLO stands for, by reason."""

from ttc.exporters.stablehlo.rules import HLO_RULES

HLO_RULES.refuse("branches and loops are not exported", "branch", "loop", "require", "row_blocks")
HLO_RULES.refuse("shapes have to be known", "dynamic_reshape", "dynamic_expand", "dynamic_slice", "resize_by")
HLO_RULES.refuse("the size of its result follows from data", "range", "one_hot", "non_zero", "compress", "unique")
HLO_RULES.refuse("sequences and text are not exported", "sequence_insert", "sequence_erase", "sequence_at", "sequence_join")
HLO_RULES.refuse(
    "sequences and text are not exported", "string_concat", "string_split", "string_normalize", "regex_full_match", "string_index"
)
HLO_RULES.refuse("factorizations are not exported", "solve", "cholesky", "qr", "lu", "svd", "eigh")
HLO_RULES.refuse(
    "recurrent layers are exported as their steps, of which there are too many, or whose number data decides", "rnn", "gru", "lstm"
)
HLO_RULES.refuse("images are decoded before the model", "decode_image")
HLO_RULES.refuse("random numbers would be others", "random_uniform", "random_normal", "dropout")
HLO_RULES.refuse("trees are not exported", "tree_ensemble", "couple_probabilities")
HLO_RULES.refuse("boxes are not chosen in exported models", "non_max_suppression")
HLO_RULES.refuse("sampling at computed places is not exported", "grid_sample", "roi_align", "deform_conv")
HLO_RULES.refuse("Fourier transforms are exported as products; this one is too large for that", "fft", "irfft")
HLO_RULES.refuse("a function of Python is the process's that compiled the model", "host_call")
HLO_RULES.refuse("a value that is shown is an output", "probe")
HLO_RULES.refuse("attention in training is written out before", "attention_training", "attention_gradient")
HLO_RULES.refuse("layers in training are cut into steps before; these have too many", "lstm_training", "recurrent_gradient")

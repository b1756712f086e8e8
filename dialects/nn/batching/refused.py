"""Ops that may mix samples, by reason."""

from ttc.dialects.nn.batching import BATCHING

BATCHING.refuse("its body is not looked into", "branch", "loop", "row_blocks", "host_call")
BATCHING.refuse("its result is not of each sample", "shape", "range", "require")
BATCHING.refuse("data decide how many elements there are", "non_zero", "compress", "unique", "one_hot", "non_max_suppression")
BATCHING.refuse("data decide its shape", "dynamic_reshape", "dynamic_expand", "dynamic_slice", "resize_by", "decode_image")
BATCHING.refuse("its statistics are of the whole batch", "batch_norm_training")
BATCHING.refuse("its numbers depend on where they stand", "random_uniform", "random_normal", "dropout")
BATCHING.refuse("rows of one expert are computed together", "grouped_matmul")
BATCHING.refuse("its regions say which image they are of", "roi_align")
BATCHING.refuse("it works on lists of tensors", "sequence_insert", "sequence_erase", "sequence_at", "sequence_join")
BATCHING.refuse("text is the host's", "string_concat", "string_split", "string_normalize", "regex_full_match", "string_index")

"""The pass `lower-to-tile`, and the rules of each op by family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.dialects.core.rule_tables import RuleTable

if TYPE_CHECKING:
    from ttc.passes.nn_to_tile.lowering import Rule, Wishes

TO_TILE: RuleTable[Rule] = RuleTable("lowering to tile", __name__)
"""What lowers an nn op, by mnemonic; `lower_to_tile.rule_of_kind` is for ops without a rule of their own."""
WISHES: RuleTable[Wishes] = RuleTable("wish of folds", __name__)
"""The folds that an nn op wants its operands in, by mnemonic; ops without a rule take them in any fold."""

TO_TILE.refuse(
    "there is no tile op for it",
    *("branch", "loop", "require", "row_blocks", "batch_norm", "batch_norm_training", "dropout", "random_normal", "random_uniform"),
    *("cholesky", "eigh", "lu", "qr", "solve", "svd", "grouped_matmul"),
    *("compress", "dynamic_expand", "dynamic_reshape", "dynamic_slice", "non_max_suppression", "non_zero", "one_hot", "range", "unique"),
    *("sequence_at", "sequence_erase", "sequence_insert", "sequence_join", "decode_image"),
    *("regex_full_match", "string_concat", "string_index", "string_normalize", "string_split"),
)
TO_TILE.refuse("the caller's process computes it", "host_call")
TO_TILE.refuse("expose-probes makes an output of it", "probe")
TO_TILE.refuse("drop-stop-gradients drops it", "stop_gradient")

"""A causal model of transformers with its cache as buffers, which a step writes where the tokens stand.

The model's own code runs: its cache is given by an object with the library's method `update`, its attention by a function of the library's
table of implementations.  Rows of a batch stand at places of their own.  The cache has one place more than it holds tokens, to which what
is added to fill a chunk is written: it changes nothing that is ever read.  Its places are whole tiles of devices.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

_PASSED_OVER = frozenset(
    ("dropout", "is_causal", "output_attentions", "position_ids", "position_embeddings", "use_cache", "cache_position")
)
"""Keywords of attention that change nothing here."""


PLACES = 32
"""The places of a cache are a multiple of this: rows of a tile, which devices write in place."""


@record
class CacheShape:
    """The cache of one layer: heads of keys and values, and the width of each."""

    heads: int
    key_width: int
    value_width: int


class CachedModel(torch.nn.Module):
    """Takes tokens[batch, n], starts[batch] and counts[batch]; gives logits[batch, vocabulary].

    Row i has counts[i] tokens, of which the first stands at starts[i]; the logits are those after the last of them.  Where counts is 0 the
    row's cache stays as it is, and its logits mean nothing.

    Args:
        model: of transformers, with a head over the vocabulary.
        caches: by layer.
        dtype: of keys and values.
    """

    def __init__(self, model: torch.nn.Module, batch: int, max_length: int, caches: tuple[CacheShape, ...], dtype: torch.dtype) -> None:
        super().__init__()
        self.model, self.batch, self.max_length = model, batch, max_length
        self.places = -(-(max_length + 1) // PLACES) * PLACES
        self.layers = len(caches)
        self.cache: list[str] = []
        self._cache_keyword = cache_keyword(model)
        for layer, shape in enumerate(caches):
            for name, width in (("keys", shape.key_width), ("values", shape.value_width)):
                self.cache.append(f"{name}_{layer}")
                self.register_buffer(self.cache[-1], torch.zeros(batch, self.places, shape.heads, width, dtype=dtype))

    def forward(self, tokens: Tensor, starts: Tensor, counts: Tensor) -> dict[str, Tensor]:
        """Compute the logits, and write keys and values of the tokens."""
        steps = torch.arange(tokens.shape[1])
        places = starts[:, None] + steps
        slots = torch.where(steps < counts[:, None], places, self.max_length)
        rows = torch.arange(self.batch)[:, None].expand(-1, tokens.shape[1])
        behind = places[:, None, :, None] - torch.arange(self.places)
        cache = BufferCache(self, (rows, slots))
        with cache.used(self.model), self._last_alone(counts, tokens.shape[1]):
            found = self.model(
                input_ids=tokens,
                attention_mask=behind,
                position_ids=places.clamp(max=self.max_length - 1),
                use_cache=True,
                return_dict=True,
                **{self._cache_keyword: cache},
            )
        if cache.updates != self.layers or cache.attended != self.layers:
            raise Error("E0202", f"{type(self.model).__name__} does not keep keys and values of all layers in the library's way")
        return {"logits": found.logits[:, 0]}

    @contextmanager
    def _last_alone(self, counts: Tensor, tokens: int) -> Iterator[None]:
        """Let the head see each row's last token alone: logits of all others would be computed for nobody."""
        if tokens == 1:
            yield
            return
        is_last = (torch.arange(tokens) == counts[:, None] - 1)[:, :, None]

        def chosen(_head: torch.nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            # a sum, which cannot fail as an index out of range would: what may fail after the cache is written keeps it from being in place
            return (torch.where(is_last, given[0], 0).sum(dim=1, keepdim=True), *given[1:])

        hook = head_of(self.model).register_forward_pre_hook(chosen)
        try:
            yield
        finally:
            hook.remove()


class BufferCache:
    """A cache as models of transformers call it, over the buffers of a module, and the attention to it."""

    is_compileable = True

    def __init__(self, owner: CachedModel, places: tuple[Tensor, Tensor]) -> None:
        self._owner, self._places = owner, places
        self.updates = self.attended = 0

    def update(self, keys: Tensor, values: Tensor, layer_idx: int, *_more: Any, **_settings: Any) -> tuple[Tensor, Tensor]:
        """Write new keys and values [batch, heads, n, width] to their places; gives those of all places."""
        self.updates += 1
        whole: list[Tensor] = []
        for name, new in (("keys", keys), ("values", values)):
            buffer: Tensor = getattr(self._owner, f"{name}_{layer_idx}")
            buffer.index_put_(self._places, new.transpose(1, 2))
            whole.append(buffer.transpose(1, 2))
        return whole[0], whole[1]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return 0: models are given positions, and need not ask."""
        return 0

    def attend(
        self,
        module: torch.nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        sliding_window: int | None = None,
        **settings: Any,
    ) -> tuple[Tensor, None]:
        """Attend to the places up to each token's own, and in a sliding window to the last of these.

        attention_mask: how many places each place of the cache lies behind each token, int64[batch, 1, n, places].
        Returns: [batch, n, heads, width].  Raises E0202 for attention of other kinds.
        """
        self.attended += 1
        unknown = sorted(k for k, v in settings.items() if k not in _PASSED_OVER and v is not None and v is not False)
        if attention_mask is None or attention_mask.dtype != torch.int64 or unknown:
            what = f"with {', '.join(unknown)}" if unknown else "with a mask of its own"
            raise Error("E0202", f"{type(module).__name__} attends {what}, which generation does not support")
        keep = attention_mask >= 0
        if sliding_window is not None:
            keep = keep & (attention_mask < sliding_window)
        shared = key.shape[1] != query.shape[1]
        found = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=keep, scale=scaling, enable_gqa=shared)
        return found.transpose(1, 2).contiguous(), None

    @contextmanager
    def used(self, model: torch.nn.Module) -> Iterator[None]:
        """Let a model compute attention with `attend`, under a name of this cache's own in the library's table."""
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        config: Any = model.config
        before, name = config._attn_implementation, f"ttc_{id(self)}"
        ALL_ATTENTION_FUNCTIONS[name] = self.attend
        try:
            config._attn_implementation = name
            yield
        finally:
            config._attn_implementation = before
            del ALL_ATTENTION_FUNCTIONS[name]


def cache_keyword(model: torch.nn.Module) -> str:
    """Return the keyword under which a model takes its cache, which changed with the library's versions.  Raises E0202."""
    known = inspect.signature(model.forward).parameters
    for name in ("cache", "past_key_values"):
        if name in known:
            return name
    raise Error("E0202", f"{type(model).__name__} takes no cache of keys and values")


def head_of(model: Any) -> torch.nn.Linear:
    """Return the layer that gives logits.  Raises E0202."""
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    if not isinstance(head, torch.nn.Linear):
        raise Error("E0202", f"{type(model).__name__} has no head over a vocabulary", hint="give a ...ForCausalLM of transformers")
    return head

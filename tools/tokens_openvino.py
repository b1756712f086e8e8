"""Write a causal model of transformers for OpenVINO, with its cache as states of the graph, which grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import torch
from openvino import opset13
from torch import Tensor


class _OverPast(torch.nn.Module):
    """Takes tokens, their mask and positions, the order of rows, and keys and values so far; gives logits, and keys and values."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, beam_idx: Tensor, *past: Tensor
    ) -> tuple[Tensor, ...]:
        from transformers import DynamicCache
        from transformers.cache_utils import DynamicLayer

        ordered = [tensor.index_select(0, beam_idx) for tensor in past]
        cache = DynamicCache()
        for keys, values in zip(ordered[::2], ordered[1::2], strict=True):
            layer = DynamicLayer()
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys, values  # the constructor would join them to tensors without a shape
            cache.layers.append(layer)
        given = {"input_ids": input_ids, "attention_mask": attention_mask, "position_ids": position_ids}
        found = self.model(**given, past_key_values=cache, logits_to_keep=1)
        return (found.logits, *(tensor for layer in found.past_key_values.layers for tensor in (layer.keys, layer.values)))


def write_openvino(model: Any, folder: Path) -> Path:
    """Write a model and its weights into a folder, and return the path of its graph.

    It takes input_ids[batch, n], attention_mask[batch, all so far], position_ids[batch, n] and beam_idx[batch], the order of rows;
    it gives logits[batch, 1, vocabulary] after the last token.
    """
    from openvino._offline_transformations import apply_make_stateful_transformation

    config = model.config
    tokens, held = 2, 3
    shape = (1, config.num_key_value_heads, held, config.head_dim)
    count = 2 * config.num_hidden_layers
    examples = {
        "input_ids": torch.zeros(1, tokens, dtype=torch.int64),
        "attention_mask": torch.ones(1, held + tokens, dtype=torch.int64),
        "position_ids": torch.arange(held, held + tokens)[None],
        "beam_idx": torch.zeros(1, dtype=torch.int32),
    }
    with torch.no_grad():
        made = ov.convert_model(_OverPast(model), example_input=(*examples.values(), *(torch.zeros(shape) for _ in range(count))))
    names = [*examples, *(f"past.{index}" for index in range(count))]
    for name, port in zip(names, made.inputs, strict=True):
        port.get_tensor().set_names({name})
        node = port.get_node()
        free = [-1] * len(port.partial_shape) if name in examples else [-1, shape[1], -1, shape[3]]
        node.set_partial_shape(ov.PartialShape(free))
        node.set_element_type(ov.Type.i32 if name == "beam_idx" else ov.Type.i64 if name in examples else ov.Type.f32)
    for name, port in zip(["logits", *(f"present.{index}" for index in range(count))], made.outputs, strict=True):
        port.get_tensor().set_names({name})
    made.validate_nodes_and_infer_types()
    apply_make_stateful_transformation(made, {f"past.{index}": f"present.{index}" for index in range(count)})
    _begin_empty(made)
    folder.mkdir(exist_ok=True)
    ov.save_model(made, folder / "openvino_model.xml", compress_to_fp16=False)
    return folder / "openvino_model.xml"


def _begin_empty(model: ov.Model) -> None:
    """Let states begin with as many rows as there are prompts, of no tokens."""
    rows = opset13.gather(opset13.shape_of(model.input("input_ids"), "i64"), opset13.constant([0]), opset13.constant(0))
    for op in model.get_ops():
        if op.get_type_name() == "ReadValue":
            _, heads, _, width = op.get_output_partial_shape(0)
            sizes = [opset13.constant(np.array([size], np.int64)) for size in (heads.get_length(), 0, width.get_length())]
            shape = opset13.concat([rows, *sizes], axis=0)
            zero = opset13.constant(0.0, dtype=op.get_output_element_type(0))
            op.set_arguments([opset13.broadcast(zero, shape).output(0)])
    model.validate_nodes_and_infer_types()

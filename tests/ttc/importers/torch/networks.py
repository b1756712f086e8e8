"""Small networks of `transformers` with random weights, by model type, and inputs for each.

Weights are scaled so that no output vanishes: a comparison of zeros would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import torch
import transformers as library

Network: TypeAlias = "tuple[Any, dict[str, Any]]"
_TEXT = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 32,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_IMAGE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32, "patch_size": 8}
_T5 = {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
_STAGES = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]}
_WHISPER = {
    "vocab_size": 64,
    "d_model": 32,
    **{f"{half}_{what}": n for half in ("encoder", "decoder") for what, n in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))},
    **{"max_source_positions": 16, "max_target_positions": 16, "num_mel_bins": 8},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1},
}
_WAV2VEC2 = {
    **_TEXT,
    **{"conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3), "num_feat_extract_layers": 2},
    **{"num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4},
}
_SEGFORMER = {
    **{"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [8, 16], "patch_sizes": [3, 3], "strides": [2, 2]},
    **{"num_attention_heads": [1, 2], "mlp_ratios": [2, 2], "decoder_hidden_size": 16, "num_labels": 4},
}


def _ids(length: int = 8, name: str = "input_ids") -> dict[str, Any]:
    return {name: torch.randint(3, 64, (2, length))}


def _masked() -> dict[str, Any]:
    """Token ids, the second sentence shorter than the first."""
    mask = torch.ones(2, 8, dtype=torch.int64)
    mask[1, 6:] = 0
    return {**_ids(), "attention_mask": mask}


def _ended() -> dict[str, Any]:
    """Token ids, the end of a sentence at the end of each."""
    return {"input_ids": torch.cat([_ids(7)["input_ids"], torch.full((2, 1), 2)], 1)}


def _image() -> dict[str, Any]:
    return {"pixel_values": torch.randn(1, 3, 32, 32)}


def _made(architecture: str, settings: Mapping[str, Any], inputs: Callable[[], dict[str, Any]], part: str = "") -> Callable[[], Network]:
    """A network of an architecture, or a part of it."""

    def build() -> Network:
        torch.manual_seed(0)
        kind = getattr(library, architecture)
        network = kind(kind.config_class(**settings)).eval()
        for parameter in network.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=max(1, parameter[0].numel()) ** -0.5)
        return getattr(network, part) if part else network, inputs()

    return build


NETWORKS: Mapping[str, Callable[[], Network]] = MappingProxyType(
    {
        "bert": _made("BertModel", _TEXT, _masked),
        "distilbert": _made(
            "DistilBertModel",
            {"vocab_size": 64, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 32},
            _masked,
        ),
        "roberta": _made("RobertaModel", _TEXT, _masked),
        "gpt2": _made(
            "GPT2LMHeadModel",
            {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32, "bos_token_id": 1, "eos_token_id": 2}
            | {"use_cache": False},
            _ids,
        ),
        "llama": _made("LlamaForCausalLM", {**_TEXT, "num_key_value_heads": 2, "use_cache": False}, _ids),
        "mistral": _made("MistralForCausalLM", {**_TEXT, "num_key_value_heads": 2, "use_cache": False, "sliding_window": 4}, _ids),
        "qwen2": _made("Qwen2ForCausalLM", {**_TEXT, "num_key_value_heads": 2, "use_cache": False}, _ids),
        "t5 encoder": _made("T5EncoderModel", _T5, _ids),
        "t5": _made("T5ForConditionalGeneration", {**_T5, "use_cache": False}, lambda: _ids() | _ids(4, "decoder_input_ids")),
        "t5 decoder step": _made(
            "T5ForConditionalGeneration",
            {**_T5, "use_cache": False},
            lambda: {**_ids(1), "encoder_hidden_states": torch.randn(2, 8, 32)},
            "decoder",
        ),
        "bart classifier": _made(
            "BartForSequenceClassification",
            {**_WHISPER, "encoder_layers": 1, "decoder_layers": 1, "max_position_embeddings": 16, "use_cache": False},
            _ended,
        ),
        "whisper encoder": _made("WhisperModel", _WHISPER, lambda: {"input_features": torch.randn(1, 8, 32)}, "encoder"),
        "vit": _made("ViTModel", _IMAGE, _image),
        "deit": _made("DeiTModel", _IMAGE, _image),
        "swin": _made(
            "SwinModel",
            {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4},
            _image,
        ),
        "convnext": _made("ConvNextModel", {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "image_size": 32}, _image),
        "resnet": _made("ResNetModel", {**_STAGES, "layer_type": "basic"}, _image),
        "mobilenet_v2": _made("MobileNetV2Model", {"depth_multiplier": 0.25, "image_size": 32}, _image),
        "regnet": _made("RegNetModel", {**_STAGES, "groups_width": 4}, _image),
        "segformer": _made("SegformerForSemanticSegmentation", _SEGFORMER, _image),
        "clip text": _made("CLIPTextModel", _TEXT, _masked),
        "clip vision": _made("CLIPVisionModel", _IMAGE, _image),
        "wav2vec2": _made("Wav2Vec2Model", _WAV2VEC2, lambda: {"input_values": torch.randn(1, 800)}),
        "mamba": _made(
            "MambaModel", {"vocab_size": 64, "hidden_size": 16, "state_size": 4, "num_hidden_layers": 2, "use_cache": False}, _ids
        ),
    }
)
"""By model type: a function that gives a network and its keyword arguments."""

"""The sizes of a BERT, written once."""

import dataclasses
import json
import pathlib

ACTIVATIONS = ("gelu_erf", "gelu_tanh", "relu")

# Layers, width. Heads are width / 64 and the feed-forward is four times the width, as in the paper and the miniatures.
NAMED_SIZES = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}

# Our field -> the key in Google's bert_config.json and in a Hugging Face config.json.
_FILE_KEYS = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "activation": "hidden_act",
    "layer_norm_epsilon": "layer_norm_eps",
    "initializer_stddev": "initializer_range",
    "is_causal": "is_decoder",
}
# A file may leave these out: Google's has no epsilon (its code fixes 1e-12), and only a decoder's says that it is one.
_OPTIONAL_IN_FILE = {"layer_norm_epsilon", "is_causal"}
# "gelu" in a released file is the erf form (what every Hugging Face BERT computes).
_FILE_ACTIVATIONS = {"gelu": "gelu_erf", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
# Keys with one allowed value: anything else is a model that is not the paper's BERT.
_FIXED_IN_FILE = {
    "model_type": ("bert",),
    "position_embedding_type": ("absolute", None),
    "add_cross_attention": (False,),
    "is_encoder_decoder": (False,),
    "pruned_heads": ({}, None),
}
# Keys that say nothing about the encoder's sizes: of kbert, of transformers of all years, and what it once wrote about
# the generation of text. Those that begin with "_" are transformers' own notes.
_IGNORED_IN_FILE = {
    "architectures", "bad_words_ids", "begin_suppress_tokens", "bos_token_id",
    "chunk_size_feed_forward", "classifier_dropout", "cross_attention_hidden_size", "decoder_start_token_id",
    "directionality", "diversity_penalty", "do_sample", "dtype", "early_stopping", "encoder_no_repeat_ngram_size",
    "eos_token_id", "exponential_decay_length_penalty", "finetuning_task", "forced_bos_token_id",
    "forced_eos_token_id", "gradient_checkpointing", "id2label", "kbert_version", "label2id", "length_penalty",
    "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_labels",
    "num_return_sequences", "output_attentions", "output_hidden_states", "output_past", "output_scores",
    "pad_token_id", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head",
    "pooler_type", "prefix", "problem_type", "remove_invalid_values", "repetition_penalty", "return_dict",
    "return_dict_in_generate", "sep_token_id", "suppress_tokens", "tags_pieces", "task_specific_params",
    "temperature", "tf_legacy_loss", "tie_encoder_decoder", "tie_word_embeddings", "tokenizer_class", "top_k", "top_p",
    "torch_dtype", "torchscript", "transformers_version", "typical_p", "use_bfloat16", "use_cache",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class BertConfig:
    """Hold the sizes and rates of one BERT, and refuse impossible ones.

    Args:
        vocabulary_size: int >= 1, V. Rows of the token table.
        num_layers: int >= 1. Encoder blocks.
        num_heads: int >= 1, N. Divides `hidden_dim`.
        hidden_dim: int >= 1, D.
        intermediate_dim: int >= 1, F. Width of the feed-forward.
        max_sequence_length: int >= 1. Rows of the position table; a longer input is an error.
        num_segments: int >= 1. Rows of the segment table.
        dropout: float in [0, 1). After the embeddings and after both sublayers of a block.
        attention_dropout: float in [0, 1). On the attention probabilities.
        activation: "gelu_erf", "gelu_tanh" or "relu". Named by form: Google's code computes the tanh form, Hugging
            Face's "gelu" is the erf form.
        layer_norm_epsilon: float > 0. The same in every LayerNorm, heads included.
        initializer_stddev: float > 0. Of the truncated normal that fills kernels and tables.
        is_causal: bool. True = a token sees itself and those before it only: no BERT, but the left-to-right model that
            the paper's ablations set beside it. Hugging Face calls it a decoder.

    Raises:
        ValueError: a value is of the wrong kind or out of its range, or `num_heads` does not divide `hidden_dim`.

    Example:
        >>> BertConfig.named("base").hidden_dim
        768

    Source: google-research/bert `modeling.BertConfig`; sizes from the paper's section 3 and the 24 miniatures.
    """

    vocabulary_size: int
    num_layers: int
    num_heads: int
    hidden_dim: int
    intermediate_dim: int
    max_sequence_length: int = 512
    num_segments: int = 2
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation: str = "gelu_erf"
    layer_norm_epsilon: float = 1e-12
    initializer_stddev: float = 0.02
    is_causal: bool = False

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is int and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ValueError(f"`{field.name}` must be an int of 1 or more. Received: {field.name}={value!r}.")
            if field.type is bool and not isinstance(value, bool):
                raise ValueError(f"`{field.name}` must be True or False. Received: {field.name}={value!r}.")
            if field.type is float and (isinstance(value, bool) or not isinstance(value, (int, float))):
                raise ValueError(f"`{field.name}` must be a float. Received: {field.name}={value!r}.")
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"`{name}` must be in [0, 1). Received: {name}={getattr(self, name)!r}.")
        for name in ("layer_norm_epsilon", "initializer_stddev"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"`{name}` must be a positive number. Received: {name}={getattr(self, name)!r}.")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"`activation` must be one of {ACTIVATIONS}. Received: activation={self.activation!r}.")
        if self.hidden_dim % self.num_heads:
            raise ValueError(
                "`hidden_dim` must be a multiple of `num_heads`. "
                f"Received: hidden_dim={self.hidden_dim}, num_heads={self.num_heads}."
            )

    @classmethod
    def named(cls, size, **changes):
        """Return the config of a named size, or of "LAYERSxWIDTH", with single fields changed.

        Args:
            size: "tiny", "mini", "small", "medium", "base", "large", or e.g. "6x384" (width a multiple of 64).
            **changes: fields of `BertConfig` that differ; `vocabulary_size` is 30522 unless given.

        Raises:
            ValueError: `size` is none of these.
        """
        layers, _, width = size.partition("x")
        if size in NAMED_SIZES:
            layers, width = NAMED_SIZES[size]
        elif not (layers.isdecimal() and width.isdecimal() and int(layers) and int(width) and int(width) % 64 == 0):
            raise ValueError(
                f"`size` must be one of {', '.join(NAMED_SIZES)}, or LAYERSxWIDTH with a width that is a multiple of "
                f"64. Received: size={size!r}."
            )
        width = int(width)
        sizes = {
            "vocabulary_size": 30522,
            "num_layers": int(layers),
            "num_heads": width // 64,
            "hidden_dim": width,
            "intermediate_dim": 4 * width,
        }
        return cls(**(sizes | changes))

    def replace(self, **changes):
        """Return a copy with the given fields changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self):
        """Return the fields as a plain dict, in our names."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values):
        """Build from the dict of `to_dict`. Unknown and missing keys are errors that name them."""
        fields = dataclasses.fields(cls)
        _refuse_keys(
            unknown=set(values) - {field.name for field in fields},
            missing={field.name for field in fields if field.default is dataclasses.MISSING} - set(values),
            where="a BertConfig dict",
        )
        return cls(**values)

    @classmethod
    def from_json(cls, path):
        """Read Google's bert_config.json or a Hugging Face config.json.

        Raises:
            ValueError: the file is not JSON, a key is missing or unknown, or it describes a model that is not the
                paper's BERT (a decoder, relative positions, ...).
        """
        path = pathlib.Path(path)
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"A config file must hold JSON. Received: {path}: {error}.") from error
        for key, allowed in _FIXED_IN_FILE.items():
            if values.get(key, allowed[0]) not in allowed:
                raise ValueError(
                    f"`{key}` must be {allowed[0]!r} for a BERT. Received: {key}={values[key]!r} in {path}."
                )
        known = {file_key: name for name, file_key in _FILE_KEYS.items()}
        _refuse_keys(
            unknown={key for key in values if not key.startswith("_")} - {*known, *_FIXED_IN_FILE, *_IGNORED_IN_FILE},
            missing={key for key, name in known.items() if name not in _OPTIONAL_IN_FILE} - set(values),
            where=str(path),
        )
        ours = {name: values[key] for key, name in known.items() if key in values}
        ours["activation"] = _FILE_ACTIVATIONS.get(ours["activation"], ours["activation"])
        return cls(**ours)

    def to_json_values(self):
        """Return the sizes as a dict in the keys of `bert_config.json` and of a Hugging Face `config.json`."""
        names = {ours: theirs for theirs, ours in reversed(_FILE_ACTIVATIONS.items())}
        values = {_FILE_KEYS[name]: value for name, value in self.to_dict().items()}
        return values | {"hidden_act": names[self.activation], "model_type": "bert"}

    def to_json(self, path):
        """Write `to_json_values` to a file."""
        pathlib.Path(path).write_text(json.dumps(self.to_json_values(), indent=2) + "\n", encoding="utf-8")


def _refuse_keys(unknown, missing, where):
    if unknown or missing:
        raise ValueError(
            f"The keys of {where} must be those of a BERT config. "
            f"Received: unknown keys {sorted(unknown)}, missing keys {sorted(missing)}."
        )

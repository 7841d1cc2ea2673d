"""Where a question's model comes from."""

import dataclasses

import keras
import numpy as np

from kbert.convert import load
from kbert.models import BertBackbone


@dataclasses.dataclass(frozen=True)
class Source:
    """A model that can be asked, whatever it came from.

    Attributes:
        model: a Keras model, or any callable that takes one dict of int32 NumPy arrays and returns a dict of arrays.
            It gets `token_ids`, `segment_ids` and `padding_mask` `[B, T]`, and for the two heads `mask_positions`
            `[B, P]`; B, T and P differ from call to call. It returns the key the question is answered from:

            - `FillMask`, `ScoreText`: `mlm`, logits `[B, P, V]`.
            - `SentencePair`: `nsp`, logits `[B, 2]`, column 0 = follows.
            - `EmbedText`: `hidden_states`, a list of `num_layers` + 1 arrays `[B, T, D]`, the embeddings first. For
              the last layer alone `sequence_output` `[B, T, D]` will do.

            More keys do no harm. With TensorFlow, `loaded = tf.saved_model.load(path)` of what `BertPretrainer.export`
            (for `EmbedText` `BertBackbone.export`) wrote has such a callable, `loaded.serve`; keep `loaded` as long,
            for `serve` alone does not keep the weights.
        tokenizer: `WordPieceTokenizer`.
        max_sequence_length: int, tokens the model can read, [CLS] and [SEP] included.
    """

    model: object
    tokenizer: object
    max_sequence_length: int

    def predict(self, inputs, *names):
        """Return the outputs called `names` for one batch, as float32 NumPy arrays (or lists of such).

        Raises:
            ValueError: the model has no such output.
        """
        num_rows = len(inputs["token_ids"])
        if isinstance(self.model, keras.Model):
            outputs = self.model.predict_on_batch(_fill_up(inputs))
        else:
            outputs = self.model(inputs)
        absent = [name for name in names if name not in outputs]
        if absent:
            raise ValueError(f"The model must return {absent}. Received: outputs {sorted(outputs)}.")
        return keras.tree.map_structure(
            lambda value: keras.ops.convert_to_numpy(value)[:num_rows].astype("float32", copy=False),
            [outputs[name] for name in names],
        )


def open_source(source, tokenizer=None, needs=(), max_sequence_length=None):
    """Return the `Source` of a checkpoint, or of a model or callable passed in.

    Args:
        source: preset name, checkpoint folder, `Checkpoint`, a `BertPretrainer` or `BertBackbone`, or a callable as
            `Source` describes.
        tokenizer: `WordPieceTokenizer`; needed with a model or callable, and only then.
        needs: tuple of the parts the question is answered from, of "pooler", "mlm", "nsp".
        max_sequence_length: int; needed with a callable. Otherwise None for the model's own, or less than that.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: the checkpoint has no weights for a needed part, or a model or callable came without tokenizer or
            `max_sequence_length`; or "mlm" is asked of a left-to-right model.
    """
    if not callable(source):
        checkpoint = source if hasattr(source, "missing_parts") else load(source)
        absent = [part for part in needs if part in checkpoint.missing_parts]
        if absent:
            raise ValueError(
                f"The checkpoint must have trained weights for {', '.join(needs)}; random ones would answer nonsense. "
                f"Received: {checkpoint.source} without {', '.join(absent)}. "
                "Train them with training/pretrain.py --init."
            )
        source, tokenizer = checkpoint.model, checkpoint.tokenizer
    if tokenizer is None:
        raise ValueError("A model must come with its tokenizer. Received: tokenizer=None.")
    backbone = source if isinstance(source, BertBackbone) else getattr(source, "backbone", None)
    if "mlm" in needs and backbone is not None and backbone.config.is_causal:
        raise ValueError("A model for masked words must read both sides. Received: a left-to-right model.")
    longest = None if backbone is None else backbone.config.max_sequence_length
    if max_sequence_length is None:
        max_sequence_length = longest
    if max_sequence_length is None or not 3 <= max_sequence_length <= (longest or max_sequence_length):
        raise ValueError(
            "`max_sequence_length` must be at least 3 and at most what the model can read; a callable cannot tell, so "
            f"pass it. Received: max_sequence_length={max_sequence_length}, the model reads {longest}."
        )
    return Source(source, tokenizer, max_sequence_length)


def _fill_up(inputs):
    # JAX compiles for each number of rows; with filler rows up to 2, 8 or 32 it meets few numbers.
    if keras.backend.backend() != "jax":
        return inputs
    num_rows = len(inputs["token_ids"])
    missing = (1 << ((num_rows - 1).bit_length() | 1)) - num_rows
    return {
        name: np.pad(value, ((0, missing), *[(0, 0)] * (value.ndim - 1)), mode="edge") for name, value in inputs.items()
    }

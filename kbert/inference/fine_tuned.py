"""Open a fine-tuned model, refuse one that was made for another question, and ask it."""

import keras

from kbert.inference.rows import length_step
from kbert.inference.source import open_source
from kbert.tasks.batches import predict_rows


def open_fine_tuned(source, model_class, tokenizer=None, max_sequence_length=None):
    """Return the `Source` of a fine-tuned model; see `open_source`.

    Args:
        source: checkpoint folder, `Checkpoint`, a model, or a callable.
        model_class: class of `kbert.models` that answers the question. A callable is taken at its word.
        tokenizer, max_sequence_length: as in `open_source`.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: the model is of another class, or `open_source` refuses it.
    """
    opened = open_source(source, tokenizer, (), max_sequence_length)
    if isinstance(opened.model, keras.Model) and not isinstance(opened.model, model_class):
        raise ValueError(
            f"The model must be a {model_class.__name__}. Received: a {type(opened.model).__name__}. "
            "Fine-tune one with training/finetune.py."
        )
    return opened


def ask_rows(source, rows, *names):
    """Return the outputs called `names` for each row, a tuple of arrays a row; see `predict_rows`.

    Args:
        source: `Source`.
        rows: list of `kbert.tasks.batches.Row`.
        *names: str, of the model's outputs.
    """
    pad_token_id = source.tokenizer.special_token_ids["[PAD]"]
    return predict_rows(
        lambda inputs: source.predict(inputs, *names), rows, pad_token_id, source.max_sequence_length, length_step()
    )

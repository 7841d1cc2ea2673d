"""Where a question's model comes from."""

from kbert.convert import load_checkpoint


def open_source(source, tokenizer, needs):
    """Return (model, tokenizer) of a checkpoint, or of a model and tokenizer passed in.

    Args:
        source: preset name, checkpoint folder, `Checkpoint`, or a `BertPretrainer`.
        tokenizer: `WordPieceTokenizer`; needed with a model, and only then.
        needs: tuple of the parts the question is answered from, of "pooler", "mlm", "nsp".

    Raises:
        ValueError: the checkpoint has no weights for a needed part, or a model came without tokenizer.
    """
    if hasattr(source, "backbone"):
        if tokenizer is None:
            raise ValueError("A model must come with its tokenizer. Received: tokenizer=None.")
        return source, tokenizer
    checkpoint = source if hasattr(source, "missing_parts") else load_checkpoint(source)
    absent = [part for part in needs if part in checkpoint.missing_parts]
    if absent:
        raise ValueError(
            f"The checkpoint must have trained weights for {', '.join(needs)}; random ones would answer nonsense. "
            f"Received: {checkpoint.source} without {', '.join(absent)}. Train them with training/pretrain.py --init."
        )
    return checkpoint.model, checkpoint.tokenizer

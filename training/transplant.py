"""Put the encoder of one checkpoint under new word embeddings: a start for another language.

    python -m training.transplant kbert-small-en --vocabulary runs/ko/vocab.txt --keep_accents --output runs/ko-start

Blocks, positions, segments and norms are the encoder's. Tokens that both vocabularies have keep their embeddings; each
other one is drawn from a normal distribution with the mean and deviation that each column of the old table has. The
heads are random. The folder is a checkpoint for `training.pretrain --init`.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses

import keras
import numpy as np
from keras import ops

from kbert.convert import load, save_checkpoint
from kbert.models import BertBackbone, BertPretrainer
from kbert.text.tokenizer import WordPieceTokenizer
from training.arguments import one_line_errors, parse, setting


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    encoder: str = setting(text="checkpoint folder or preset")
    vocabulary: str = setting(None, "vocab.txt of the new language")
    output: str = setting("runs/start", "checkpoint folder to write")
    cased: bool = setting(False, "keep upper case and accents")
    keep_accents: bool = setting(
        False, "lower-case, but keep accents, as is done for a vocabulary of whole Hangul syllables"
    )
    seed: int = setting(0, "of the new embeddings and the heads")


def main(argv=None):
    """Write the checkpoint; return its model."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        if settings.vocabulary is None:
            raise ValueError("--vocabulary must be given: a vocab.txt (kbert vocab learns one).")
        tokenizer = WordPieceTokenizer.from_vocabulary_file(
            settings.vocabulary, not settings.cased, settings.keep_accents
        )
        source = load(settings.encoder)
        model, num_kept = transplant(source.model.backbone, source.tokenizer, tokenizer, settings.seed)
        save_checkpoint(model, tokenizer, settings.output, missing_parts=("mlm", "nsp"))
    print(
        f"{settings.output}: {tokenizer.vocabulary_size:,} tokens, {num_kept:,} of them with the embedding they had in "
        f"{settings.encoder}; {model.count_params():,} parameters"
    )
    return model


def transplant(backbone, old_tokenizer, new_tokenizer, seed=0):
    """Return a `BertPretrainer` over `new_tokenizer`, and the number of token embeddings it shares with `backbone`."""
    keras.utils.set_random_seed(seed)
    config = backbone.config.replace(vocabulary_size=new_tokenizer.vocabulary_size)
    model = BertPretrainer(BertBackbone(config))
    new_table = model.backbone.embeddings.token_embedding.embeddings
    for old, new in zip(backbone.weights, model.backbone.weights, strict=True):
        if new is not new_table:
            new.assign(old)

    old_rows = ops.convert_to_numpy(backbone.embeddings.token_embedding.embeddings)
    shape = (new_tokenizer.vocabulary_size, config.hidden_dim)
    rows = np.random.default_rng(seed).normal(old_rows.mean(0), old_rows.std(0), shape).astype("float32")
    old_ids = {token: old_id for old_id, token in enumerate(old_tokenizer.vocabulary)}
    shared = [(new_id, old_ids[token]) for new_id, token in enumerate(new_tokenizer.vocabulary) if token in old_ids]
    for new_id, old_id in shared:
        rows[new_id] = old_rows[old_id]
    new_table.assign(rows)
    return model, len(shared)


if __name__ == "__main__":
    main()

"""What a masked word costs a model that knows only how often each token comes: where a run that is stuck stays."""

import math

import numpy as np
import tensorflow as tf

from kbert.data.mixture import mixed_datasets

SAMPLE_TOKENS = 2_000_000


def unigram_loss(folders, num_tokens=SAMPLE_TOKENS):
    """Return the masked-word loss of guessing by the frequencies of the tokens: their entropy in nats.

    [PAD], [CLS] and [SEP] do not count, because they are never masked. A model at this loss has learnt the
    frequencies and nothing of the context; log V is the loss of one that has learnt nothing at all.

    Args:
        folders: dataset folders, whose training rows are read.
        num_tokens: int, about how many tokens are counted, spread over all shards. Entropy out of n tokens of K kinds
            comes out too small by about K / 2n.
    """
    info = mixed_datasets(folders)
    share = min(1.0, num_tokens / max(1, sum(shard.tokens for shard in info.shards)))
    counts = np.zeros(info.vocabulary_size, np.int64)
    for shard in info.shards:
        # The first rows will do: those of a shard are in random order.
        records = tf.data.TFRecordDataset(shard.file).take(math.ceil(share * shard.rows))
        for batch in records.batch(1024):
            rows = tf.io.parse_example(batch, {"token_ids": tf.io.RaggedFeature(tf.int64)})
            token_ids = rows["token_ids"].flat_values.numpy()
            # Ids outside the vocabulary stop the run where it reads them.
            counts += np.bincount(token_ids[(token_ids >= 0) & (token_ids < counts.size)], minlength=counts.size)
    counts[[info.special_token_ids[token] for token in ("[PAD]", "[CLS]", "[SEP]")]] = 0
    rates = counts[counts > 0] / max(1, counts.sum())
    return float(-np.sum(rates * np.log(rates)))

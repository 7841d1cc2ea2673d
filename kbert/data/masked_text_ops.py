"""The tokenizer in the graph for texts with masks: letters right behind a mask continue its word."""

import numpy as np
import tensorflow as tf
import tensorflow_text

from kbert.data.text_ops import GraphTokenizer

_ANY_LETTER = "a"  # Stands before the pieces of a word that continues.


class MaskedTextTokenizer(GraphTokenizer):
    """Split texts as `GraphTokenizer` does, and read "[MASK]에" as [MASK] ##에.

    The rule is that of `kbert.inference.continuations`: the word right behind a mask, no blank between, becomes pieces
    that continue it, if the vocabulary has such pieces for all of it and each of its characters is one in normal form.

    Args:
        tokenizer: `WordPieceTokenizer`.
    """

    def __init__(self, tokenizer):
        super().__init__(tokenizer)
        continuing = [
            (token_id, token)
            for token_id, token in enumerate(tokenizer.vocabulary)
            if token.startswith("##") and token != "##"
        ]
        # Of its tokens only one is no continuation, so a word spelt with it in front holds that one and continuations.
        self._continuing = tensorflow_text.FastWordpieceTokenizer(
            [_ANY_LETTER, "[UNK]", *(token for _, token in continuing)],
            max_bytes_per_word=2**30,
            token_out_type=tf.int32,
            unknown_token="[UNK]",
            no_pretokenization=True,
        )
        self._continuing_ids = np.array([0, 0, *(token_id for token_id, _ in continuing)], "int32")

    def _pieces_of_words(self, words, first_parts, origins):
        pieces = super()._pieces_of_words(words, first_parts, origins)
        behind = tf.where(self._stands_behind_mask(words, first_parts, origins))[:, 0]
        found = self._continuing.tokenize_with_offsets(_ANY_LETTER + tf.gather(words.values, behind))
        is_known = tf.gather(found[0].values, found[0].row_starts()) == 0  # Else [UNK].
        behind = tf.boolean_mask(behind, is_known)
        token_ids, starts, ends = (tf.ragged.boolean_mask(part, is_known)[:, 1:] for part in found)
        token_ids = token_ids.with_values(tf.gather(self._continuing_ids, token_ids.values))
        replacements = (token_ids, *(bounds.with_values(bounds.values - len(_ANY_LETTER)) for bounds in (starts, ends)))
        num_words = tf.size(words.values)
        order = tf.tensor_scatter_nd_update(tf.range(num_words), behind[:, None], num_words + tf.range(tf.size(behind)))
        return [tf.gather(tf.concat(pair, 0), order) for pair in zip(pieces, replacements, strict=True)]

    @staticmethod
    def _stands_behind_mask(words, first_parts, origins):
        row = words.value_rowids()
        is_mask = words.values == "[MASK]"
        follows_mask = tf.concat([[False], is_mask[:-1] & (row[:-1] == row[1:])], 0)
        num_parts = tf.strings.length(words.values, "UTF8_CHAR")
        first = tf.gather(origins, first_parts)
        last = tf.gather(origins, first_parts + num_parts - 1)
        last_of_word_before = tf.concat([[-1], last[:-1]], 0)
        # A mark, or a Chinese character, has a blank of its own before it.
        is_mark = tf.gather(origins, tf.maximum(first_parts - 1, 0)) == first
        # Part by part the next character: none is left out, none becomes several.
        steps = tf.concat([[0], tf.cumsum(tf.cast(origins[1:] - origins[:-1] == 1, tf.int32))], 0)
        steps_in_word = tf.gather(steps, first_parts + num_parts - 1) - tf.gather(steps, first_parts)
        return follows_mask & (last_of_word_before + 1 == first) & ~is_mark & (steps_in_word == num_parts - 1)

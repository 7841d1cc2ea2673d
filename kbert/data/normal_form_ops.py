"""BERT's normal form of texts inside a TensorFlow graph."""

import tensorflow as tf

from kbert.text.code_points import BLANK, ITSELF, PAGE_BITS, code_point_table
from kbert.text.vocabulary import SPECIAL_TOKENS

_LONGEST = max(map(len, SPECIAL_TOKENS))


class GraphNormalizer:
    """Put texts into BERT's normal form: look each code point up in a constant table.

    Args:
        lowercase, strip_accents, split_chinese: as in `WordPieceTokenizer`.

    Source: `kbert.text.code_points`.
    """

    def __init__(self, lowercase, strip_accents, split_chinese):
        self._table = code_point_table(lowercase, strip_accents, split_chinese)

    def code_points(self, texts, special_tokens_in_text):
        """Return the normal form, and of which character each of its parts is.

        Args:
            texts: string `[B]`. Bytes that are not UTF-8 are left out.
            special_tokens_in_text: bool. If True, "[MASK]" and the others stay as they are, as words of their own.

        Returns:
            int32 `[parts]`, code points, with `BLANK` between words; int32 `[parts]`, the character of each, counted
            over all texts; int64 `[B + 1]`, the row splits of the parts; int32 `[B]`, the first character of each text.
        """
        decoded = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")
        characters = decoded.values
        rows = tf.gather(self._table.pages, tf.bitwise.right_shift(characters, PAGE_BITS))
        patterns = tf.gather_nd(self._table.patterns, tf.stack([rows, characters & ((1 << PAGE_BITS) - 1)], 1))
        if special_tokens_in_text:
            patterns = self._keep_special_tokens(decoded, patterns)
        starts = tf.gather(self._table.starts, patterns)
        counts = tf.gather(self._table.starts, patterns + 1) - starts
        totals = tf.cumsum(counts)
        origins = tf.repeat(tf.range(tf.size(characters)), counts)
        places = tf.range(tf.size(origins)) + tf.gather(starts - (totals - counts), origins)
        parts = tf.gather(self._table.replacements, places)
        parts = tf.where(parts == ITSELF, tf.gather(characters, origins), parts)
        splits = tf.gather(tf.concat([[0], totals], 0), decoded.row_splits)
        return parts, origins, tf.cast(splits, tf.int64), tf.cast(decoded.row_starts(), tf.int32)

    def encode(self, texts):
        """Return the normal form of texts as UTF-8, string `[B]`; special tokens are text like any other."""
        parts, _, splits, _ = self.code_points(texts, special_tokens_in_text=False)
        return encode_rows(parts, splits)

    def _keep_special_tokens(self, decoded, patterns):
        """Make "[MASK]" and the others, as written, words of their own."""
        characters, row_of = decoded.values, decoded.value_rowids()
        letters = tf.constant([[ord(letter) for letter in token.ljust(_LONGEST)] for token in SPECIAL_TOKENS])
        lengths = tf.constant([len(token) for token in SPECIAL_TOKENS])
        brackets = tf.cast(tf.where(characters == ord("["))[:, 0], tf.int32)
        window = brackets[:, None] + tf.range(_LONGEST)  # [brackets, letters]
        inside = tf.minimum(window, tf.size(characters) - 1)
        in_text = (window == inside) & (tf.gather(row_of, inside) == tf.gather(row_of, brackets)[:, None])
        found = tf.where(in_text, tf.gather(characters, inside), 0)
        is_same = (found[:, None] == letters) | (letters == ord(" "))  # [brackets, tokens, letters]
        which = tf.where(tf.reduce_all(is_same, 2))  # [found, 2]: a bracket and its token
        window, length = tf.gather(window, which[:, 0]), tf.gather(lengths, which[:, 1])[:, None]
        opening, whole, closing = (
            self._table.pattern_id(pattern) for pattern in ((BLANK, ITSELF), (ITSELF,), (ITSELF, BLANK))
        )
        place = tf.range(_LONGEST)
        updates = tf.where(place == 0, opening, tf.where(place == length - 1, closing, whole))  # [found, letters]
        is_letter = place < length
        return tf.tensor_scatter_nd_update(
            patterns, tf.boolean_mask(window, is_letter)[:, None], tf.boolean_mask(updates, is_letter)
        )


def encode_rows(code_points, row_splits):
    """Return rows of code points as UTF-8, string `[B]`."""
    return tf.strings.unicode_encode(tf.RaggedTensor.from_row_splits(code_points, row_splits, validate=False), "UTF-8")

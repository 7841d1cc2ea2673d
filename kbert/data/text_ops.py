"""BERT's normaliser and WordPiece inside a TensorFlow graph, token for token those of `WordPieceTokenizer`."""

import tensorflow as tf
import tensorflow_text

from kbert.data.normal_form_ops import GraphNormalizer, encode_rows
from kbert.data.plain_text import odd_text_pattern, plain_characters
from kbert.text.code_points import BLANK

_MARK = "\0"  # Round what is to be normalised. BERT drops this character.
_NO_LIMIT = 2**30  # Bytes; the limit in characters is checked here.


class GraphTokenizer(tf.Module):
    """Split a tensor of strings into WordPiece tokens, with core TensorFlow ops and `FastWordpieceTokenizer`.

    A text of plain characters, such as ASCII, is lower-cased and given to the op as it is; so is one whose few other
    characters have been put into their normal form. Any other is put into it as a whole and split at blanks, and each
    word comes apart into its longest pieces. Bytes that are not UTF-8 are left out.

    Args:
        tokenizer: `WordPieceTokenizer`, whose vocabulary and settings it takes.

    Example:
        >>> from kbert import WordPieceTokenizer
        >>> tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"])
        >>> GraphTokenizer(tokenizer).tokenize(tf.constant(["Playing [MASK]", "play"])).to_list()
        [[5, 6, 4], [5]]

    Source: `kbert.text.code_points`; Song et al. 2021, Fast WordPiece Tokenization.
    """

    def __init__(self, tokenizer):
        super().__init__()
        self.special_token_ids = tokenizer.special_token_ids
        self.special_tokens_in_text = tokenizer.special_tokens_in_text
        self.max_word_length = tokenizer.max_word_length
        self.lowercase = tokenizer.lowercase
        rules = tokenizer.lowercase, tokenizer.strip_accents, tokenizer.split_chinese
        self._normalizer = GraphNormalizer(*rules)
        plain = plain_characters(*rules)
        self._plain_text, self._other_characters = f"[{plain}]*", f"[^{plain}]+"
        self._odd_text = odd_text_pattern(tokenizer.max_word_length, tokenizer.special_tokens_in_text)
        self._wordpiece, self._wordpiece_of_text = (
            tensorflow_text.FastWordpieceTokenizer(
                tokenizer.vocabulary,
                max_bytes_per_word=limit,
                token_out_type=tf.int32,
                unknown_token="[UNK]",
                no_pretokenization=words_only,
            )
            for words_only, limit in ((True, _NO_LIMIT), (False, tokenizer.max_word_length))
        )

    def tokenize(self, texts):
        """Return the token ids of each text, without [CLS] and [SEP].

        Args:
            texts: string `[B]`.

        Returns:
            int32 ragged `[B, (tokens)]`.
        """
        repaired, is_plain = self._repair(texts)

        def mixed():
            return self._each_its_way(
                repaired,
                texts,
                is_plain,
                lambda plain: [self._plain_pieces(plain)],
                lambda others: [self._pieces(others)[0]],
            )[0]

        return tf.cond(tf.reduce_all(is_plain), lambda: self._plain_pieces(repaired), mixed)

    def tokenize_with_offsets(self, texts):
        """Return the token ids of each text and where each token stands in it, in characters.

        Args:
            texts: string `[B]`.

        Returns:
            Three int32 ragged `[B, (tokens)]`: token ids, starts, ends (exclusive).
        """
        is_plain = self._is_plain(texts)
        is_plain &= tf.strings.length(texts) == tf.strings.length(texts, "UTF8_CHAR")  # The op counts bytes.
        return self._each_its_way(texts, texts, is_plain, self._plain_pieces_with_offsets, self._pieces_with_offsets)

    def pack(self, first, second=None, max_sequence_length=512):
        """Build the model's rows out of texts or pairs, as `WordPieceTokenizer.pack` does, padded to the longest.

        Args:
            first: string `[B]`.
            second: string `[B]` or None.
            max_sequence_length: int. Above it, tokens are cut from the end of the longer text.

        Returns:
            dict of `token_ids`, `segment_ids`, `padding_mask`, int32 `[B, T]`.

        Raises:
            ValueError: `max_sequence_length` has no room for one token of each text.
        """
        texts = [first] if second is None else [first, second]
        room = max_sequence_length - 1 - len(texts)
        if room < len(texts):
            raise ValueError(
                "`max_sequence_length` must have room for [CLS], [SEP] and a token of each text. "
                f"Received: max_sequence_length={max_sequence_length} for {len(texts)} texts."
            )
        rows = [self.tokenize(text) for text in texts]
        lengths = [tf.cast(row.row_lengths(), tf.int32) for row in rows]
        if second is None:
            kept = [tf.minimum(lengths[0], room)]
        else:  # The longer one loses its last token again and again, at a tie the second: in closed form.
            kept = [
                tf.minimum(lengths[0], tf.maximum(room - lengths[1], (room + 1) // 2)),
                tf.minimum(lengths[1], tf.maximum(room - lengths[0], room // 2)),
            ]
        return self.frame(
            [
                tf.ragged.boolean_mask(row, tf.ragged.range(tf.cast(row.row_lengths(), tf.int32)) < length[:, None])
                for row, length in zip(rows, kept, strict=True)
            ]
        )

    def frame(self, rows):
        """Put [CLS] before and [SEP] behind tokens, and pad to the longest row.

        Args:
            rows: list of one or two int32 ragged `[B, (tokens)]`, the segments.

        Returns:
            dict of `token_ids`, `segment_ids`, `padding_mask`, int32 `[B, T]`.
        """
        ones = tf.ones([rows[0].nrows(), 1], tf.int32)
        cls, sep = (self.special_token_ids[token] * ones for token in ("[CLS]", "[SEP]"))
        token_ids, segment_ids = [cls], [0 * ones]
        for segment, row in enumerate(rows):
            token_ids += [row, sep]
            segment_ids += [tf.ones_like(row) * segment, segment * ones]
        token_ids, segment_ids = tf.concat(token_ids, 1), tf.concat(segment_ids, 1)
        return {
            "token_ids": token_ids.to_tensor(self.special_token_ids["[PAD]"]),
            "segment_ids": segment_ids.to_tensor(),
            "padding_mask": tf.ones_like(token_ids).to_tensor(),
        }

    def _is_plain(self, texts):
        return self._matches(texts, self._plain_text) & ~self._matches(texts, self._odd_text)

    def _repair(self, texts):
        """Return the texts, with the normal form of what is not plain in them, and which are plain now."""
        is_odd, is_plain = self._matches(texts, self._odd_text), self._matches(texts, self._plain_text)
        which = tf.where(~is_odd & ~is_plain)
        marked = tf.strings.regex_replace(tf.gather_nd(texts, which), self._other_characters, r"\0".join([_MARK] * 2))
        segments = tf.strings.split(marked, _MARK)
        others = tf.where(~self._matches(segments.values, self._plain_text))
        normal = self._normalizer.encode(tf.gather_nd(segments.values, others))
        segments = segments.with_values(tf.tensor_scatter_nd_update(segments.values, others, normal))
        repaired = tf.strings.reduce_join(segments, axis=-1)
        is_plain = tf.tensor_scatter_nd_update(is_plain & ~is_odd, which, self._is_plain(repaired))
        return tf.tensor_scatter_nd_update(texts, which, repaired), is_plain

    @staticmethod
    def _matches(texts, pattern):
        return tf.strings.regex_full_match(texts, pattern)

    @staticmethod
    def _each_its_way(plain_forms, texts, is_plain, plain_way, other_way):
        """Return the ragged tensors that `plain_way` gives of plain texts' forms and `other_way` of the other texts."""
        plain, other = tf.where(is_plain)[:, 0], tf.where(~is_plain)[:, 0]
        order = tf.argsort(tf.concat([plain, other], 0))
        parts = zip(plain_way(tf.gather(plain_forms, plain)), other_way(tf.gather(texts, other)), strict=True)
        return [tf.gather(tf.concat(pair, 0), order) for pair in parts]

    def _plain_pieces(self, texts):
        return self._wordpiece_of_text.tokenize(self._lower(texts))

    def _plain_pieces_with_offsets(self, texts):
        token_ids, starts, ends = self._wordpiece_of_text.tokenize_with_offsets(self._lower(texts))
        return [token_ids, tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)]

    def _lower(self, texts):
        return tf.strings.lower(texts) if self.lowercase else texts

    def _pieces_with_offsets(self, texts):
        token_ids, (starts, ends), word_of_token, found = self._pieces(texts)
        words, first_parts, parts, origins, first_character = found
        widths = 1 + sum(tf.cast(parts >= limit, tf.int32) for limit in (0x80, 0x800, 0x10000))  # UTF-8 bytes.
        byte_starts = tf.cumsum(widths, exclusive=True)
        word_bytes = tf.gather(byte_starts, tf.gather(first_parts, word_of_token))
        ends = tf.where(
            token_ids.values == self.special_token_ids["[UNK]"],
            tf.gather(tf.strings.length(words), word_of_token),  # The word may have been replaced: too long.
            ends,
        )
        first_part = tf.searchsorted(byte_starts, word_bytes + starts)
        last_part = tf.searchsorted(byte_starts, word_bytes + ends) - 1
        shift = tf.gather(first_character, token_ids.value_rowids())
        return [
            token_ids,
            token_ids.with_values(tf.gather(origins, first_part) - shift),
            token_ids.with_values(tf.gather(origins, last_part) + 1 - shift),
        ]

    def _pieces(self, texts):
        parts, origins, splits, first_character = self._normalizer.code_points(texts, self.special_tokens_in_text)
        words = tf.strings.split(encode_rows(parts, splits))  # [B, (words)]
        before = tf.concat([[BLANK], parts[:-1]], 0)
        is_first = (parts != BLANK) & ((before == BLANK) | self._opens_row(origins, first_character))
        first_parts = tf.cast(tf.where(is_first)[:, 0], tf.int32)  # One a word.
        pieces, starts, ends = self._pieces_of_words(words, first_parts, origins)  # [words, (tokens)]
        token_splits = tf.gather(pieces.row_splits, words.row_splits)
        token_ids = tf.RaggedTensor.from_row_splits(pieces.values, token_splits, validate=False)
        offsets = [tf.cast(offset.values, tf.int32) for offset in (starts, ends)]
        found = (words.values, first_parts, parts, origins, first_character)
        return token_ids, offsets, pieces.value_rowids(), found

    def _pieces_of_words(self, words, first_parts, origins):
        """Return the token ids of each word and their bytes in it, ragged `[words, (tokens)]`."""
        return self._wordpiece.tokenize_with_offsets(self._without_long_words(words.values))

    def _without_long_words(self, words):
        # Bytes are quickly counted and no fewer than characters. Only a special token starts with "[" and goes on.
        suspects = tf.where(tf.strings.length(words) > self.max_word_length)
        found = tf.gather_nd(words, suspects)
        is_long = tf.strings.length(found, unit="UTF8_CHAR") > self.max_word_length
        is_long &= tf.strings.substr(found, 0, 1) != "["
        return tf.tensor_scatter_nd_update(words, suspects, tf.where(is_long, "[UNK]", found))

    @staticmethod
    def _opens_row(origins, first_character):
        # The first part of a row may follow a part that is not a blank: the last one of the row before.
        before = tf.concat([[-1], origins[:-1]], 0)
        return tf.searchsorted(first_character, origins, "right") > tf.searchsorted(first_character, before, "right")

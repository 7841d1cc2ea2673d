"""BERT's normaliser and WordPiece inside a TensorFlow graph, token for token those of `WordPieceTokenizer`."""

import tensorflow as tf
import tensorflow_text

from kbert.data.plain_text import plain_text_pattern
from kbert.text.code_points import BLANK, ITSELF, PAGE_BITS, code_point_table
from kbert.text.vocabulary import SPECIAL_TOKENS

_LONGEST = max(map(len, SPECIAL_TOKENS))
_NO_LIMIT = 2**30  # Bytes; the limit in characters is checked here.


class GraphTokenizer(tf.Module):
    """Split a tensor of strings into WordPiece tokens, with core TensorFlow ops and `FastWordpieceTokenizer`.

    A text of plain characters, such as ASCII, is lower-cased and given to the op as it is. Any other is decoded to code
    points; each is looked up in a constant table, encoded again, split at blanks, and each word comes apart into its
    longest pieces. No lookup table that needs initialising. Bytes that are not UTF-8 are left out.

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
        self._table = code_point_table(tokenizer.lowercase, tokenizer.strip_accents, tokenizer.split_chinese)
        self.lowercase = tokenizer.lowercase
        self._plain_pattern = plain_text_pattern(
            tokenizer.lowercase, tokenizer.strip_accents, tokenizer.split_chinese, tokenizer.special_tokens_in_text
        )
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
        is_plain = tf.strings.regex_full_match(texts, self._plain_pattern)
        return self._each_its_way(texts, is_plain, self._plain_pieces, lambda others: [self._pieces(others)[0]])[0]

    def tokenize_with_offsets(self, texts):
        """Return the token ids of each text and where each token stands in it, in characters.

        Args:
            texts: string `[B]`.

        Returns:
            Three int32 ragged `[B, (tokens)]`: token ids, starts, ends (exclusive).
        """
        is_plain = tf.strings.regex_full_match(texts, self._plain_pattern)
        is_plain &= tf.strings.length(texts) == tf.strings.length(texts, "UTF8_CHAR")  # The op counts bytes.
        return self._each_its_way(texts, is_plain, self._plain_pieces_with_offsets, self._pieces_with_offsets)

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

    def _each_its_way(self, texts, is_plain, plain_way, other_way):
        """Return the ragged tensors that `plain_way` gives of plain texts and `other_way` of the others."""
        plain, other = tf.where(is_plain)[:, 0], tf.where(~is_plain)[:, 0]
        order = tf.argsort(tf.concat([plain, other], 0))
        parts = zip(plain_way(tf.gather(texts, plain)), other_way(tf.gather(texts, other)), strict=True)
        return [tf.gather(tf.concat(pair, 0), order) for pair in parts]

    def _plain_pieces(self, texts):
        return [self._wordpiece_of_text.tokenize(self._lower(texts))]

    def _plain_pieces_with_offsets(self, texts):
        token_ids, starts, ends = self._wordpiece_of_text.tokenize_with_offsets(self._lower(texts))
        return [token_ids, tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)]

    def _lower(self, texts):
        return tf.strings.lower(texts, "utf-8") if self.lowercase else texts

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
        parts, origins, splits, first_character = self._normalize(texts)
        lines = tf.strings.unicode_encode(tf.RaggedTensor.from_row_splits(parts, splits, validate=False), "UTF-8")
        words = tf.strings.split(lines)  # [B, (words)]
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

    def _normalize(self, texts):
        """Return the code points of the texts in BERT's normal form, and of which character each is a part."""
        decoded = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")
        characters = decoded.values
        rows = tf.gather(self._table.pages, tf.bitwise.right_shift(characters, PAGE_BITS))
        patterns = tf.gather_nd(self._table.patterns, tf.stack([rows, characters & ((1 << PAGE_BITS) - 1)], 1))
        if self.special_tokens_in_text:
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

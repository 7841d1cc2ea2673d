"""The graph that answers which word stands at [MASK]."""

import tensorflow as tf

from kbert.data.masked_text_ops import MaskedTextTokenizer
from kbert.export.chunks import answer_in_chunks, rows_that_fit
from kbert.export.few_lengths import round_up_length

# Bounds the work of one text: each mask of a text that is longer than the model takes a pass of its own.
MAX_MASKS = 64
# Each costs the logits of the whole vocabulary.
MASKS_AT_ONCE = 128


class FillMaskGraph:
    """Find the masks of texts and the most probable words at each, as `kbert.inference.FillMask` does.

    A text that is longer than the model is answered from the window round each mask; see `kbert.inference.windows`.
    No text is refused, so that it fails no other one of its batch: without a mask it has `num_masks` 0. Only the first
    `MAX_MASKS` masks of a text are answered.

    Args:
        model: `BertPretrainer` on the TensorFlow backend.
        tokenizer: `WordPieceTokenizer`.
        top_k: int in [1, V], words a mask.

    Call arguments:
        text: string `[B]`, UTF-8. Other bytes are left out.

    Returns:
        dict, M the masks of the text that has most, filler 0 or "":
            num_masks: int32 `[B]`, all that the text has.
            words: string `[B, M, top_k]`, most probable first; "##" in front continues the word before the mask.
            token_ids: int32 `[B, M, top_k]`.
            probabilities: float32 `[B, M, top_k]`.
            starts, ends: int32 `[B, M]`, the characters of the mask in the text.
            window_starts, window_ends: int32 `[B, M]`, the characters that the model read.
    """

    def __init__(self, model, tokenizer, top_k):
        self.model = model
        self.tokenizer = MaskedTextTokenizer(tokenizer)
        self.vocabulary = tokenizer.vocabulary
        self.top_k = top_k
        self.kinds = [tf.TensorSpec([None, top_k], dtype) for dtype in (tf.float32, tf.int32)]
        self.room = model.backbone.config.max_sequence_length - 2

    def __call__(self, text):
        token_ids, starts, ends = self.tokenizer.tokenize_with_offsets(text)
        found, num_masks = self._find_masks(token_ids)
        token, text_of_mask, first, length, row = found
        place = token - first + 1  # Behind [CLS].
        opens_row = row != tf.concat([[-1], row[:-1]], 0)
        firsts, lengths = tf.boolean_mask(first, opens_row), tf.boolean_mask(length, opens_row)

        def answer(start, end):
            tokens = tf.ragged.range(firsts[start:end], firsts[start:end] + lengths[start:end])
            rows = self.tokenizer.frame([tokens.with_values(tf.gather(token_ids.values, tokens.values))])
            low, high = tf.unstack(tf.searchsorted(row, tf.stack([start, end])))
            return self._rank(rows, tf.stack([row[low:high] - start, place[low:high]], 1))

        at_once = rows_that_fit(tf.reduce_max(tf.concat([[0], lengths + 2], 0)))
        probabilities, words = answer_in_chunks(tf.size(firsts), answer, self.kinds, at_once)

        def by_text(values):
            rows = tf.RaggedTensor.from_value_rowids(values, text_of_mask, tf.size(text, tf.int64), validate=False)
            return rows.to_tensor()

        return {
            "num_masks": num_masks,
            "words": by_text(tf.gather(tf.constant(self.vocabulary), words)),
            "token_ids": by_text(words),
            "probabilities": by_text(probabilities),
            "starts": by_text(tf.gather(starts.values, token)),
            "ends": by_text(tf.gather(ends.values, token)),
            "window_starts": by_text(tf.gather(starts.values, first)),
            "window_ends": by_text(tf.gather(ends.values, first + length - 1)),
        }

    def _find_masks(self, token_ids):
        """Return what to ask about each mask, and how many masks each text has.

        The first is a tuple of tensors `[masks]`: the mask's place among all tokens, its text, the first token of the
        window and how many it has, and the row that it is read in. Masks of a text that fits share a row.
        """
        mask_id = self.tokenizer.special_token_ids["[MASK]"]
        token = tf.cast(tf.where(token_ids.values == mask_id)[:, 0], tf.int32)
        text = tf.gather(token_ids.value_rowids(), token)
        num_masks = tf.math.unsorted_segment_sum(tf.ones_like(token), text, token_ids.nrows())
        number = tf.range(tf.size(token)) - tf.gather(tf.cumsum(num_masks, exclusive=True), text)
        token, text, number = (tf.boolean_mask(values, number < MAX_MASKS) for values in (token, text, number))
        first = tf.cast(tf.gather(token_ids.row_starts(), text), tf.int32)
        length = tf.cast(tf.gather(token_ids.row_lengths(), text), tf.int32)
        too_many = tf.maximum(length - self.room, 0)
        skipped = tf.minimum(tf.maximum(token - first - self.room // 2, 0), too_many)
        row = tf.cumsum(tf.cast((number == 0) | (too_many > 0), tf.int32)) - 1
        return (token, text, first + skipped, tf.minimum(length, self.room), row), num_masks

    def _rank(self, rows, slots):
        """Return probabilities and ids `[masks, top_k]` at slots, int32 `[masks, 2]`: a row and a place in it."""
        rows = round_up_length(rows, self.room + 2)
        encoded = self.model.backbone(rows, training=False)["sequence_output"]
        vectors = tf.gather_nd(encoded, slots)[:, None]  # [masks, 1, D]

        def answer(start, end):
            places = tf.zeros([end - start, 1], tf.int32)
            logits = self.model.mlm_head(vectors[start:end], places)[:, 0]  # [n, V]
            best = tf.math.top_k(logits, self.top_k)
            return tf.exp(best.values - tf.reduce_logsumexp(logits, 1, keepdims=True)), best.indices

        return answer_in_chunks(tf.shape(slots)[0], answer, self.kinds, MASKS_AT_ONCE)

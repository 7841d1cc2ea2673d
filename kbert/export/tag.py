"""The graph that answers which class each token of a text has."""

import tensorflow as tf

from kbert.data.text_ops import GraphTokenizer
from kbert.export.chunks import answer_in_chunks
from kbert.export.few_lengths import round_up_length
from kbert.export.windows import cut_windows, find_best_places


class TagGraph:
    """Give each token of texts its most probable class, as `kbert.inference.Tag.read_pieces` does.

    A text longer than the model is read in windows; see `kbert.tasks.windows`. No text is refused.

    Args:
        model: `BertTagger` on the TensorFlow backend.
        tokenizer: `WordPieceTokenizer`.

    Call arguments:
        text: string `[B]`, UTF-8. Other bytes are left out.

    Returns:
        dict, T the tokens of the text that has most, filler 0 or "":
            num_tokens: int32 `[B]`.
            tokens, labels: string `[B, T]`; "##" in front of a token continues the word before.
            probabilities: float32 `[B, T]`, of the label.
            starts, ends: int32 `[B, T]`, the characters of the token in the text.
    """

    def __init__(self, model, tokenizer):
        self.model = model
        self.tokenizer = GraphTokenizer(tokenizer)
        self.vocabulary = tokenizer.vocabulary
        self.longest = model.backbone.config.max_sequence_length

    def __call__(self, text):
        token_ids, starts, ends = self.tokenizer.tokenize_with_offsets(text)
        lengths = tf.cast(token_ids.row_lengths(), tf.int32)
        windows = cut_windows(tf.ones_like(lengths), lengths, self.longest)

        def answer(start, end):
            here = windows.part(start, end)
            rows = round_up_length(self.tokenizer.frame([here.gather(token_ids)]), self.longest)
            states = self.model.backbone(rows, training=False)["sequence_output"]
            logits = self.model.classifier_head(states, training=False)[:, 1:-1]  # [n, T, C], without [CLS] and [SEP]
            # Each token from the window that shows it with most text round it; so they stand in the text's order.
            logits = tf.boolean_mask(logits, find_best_places(here, tf.shape(logits)[1], self.longest))
            return tf.reduce_max(tf.nn.softmax(logits), 1), tf.argmax(logits, 1, tf.int32)

        kinds = [tf.TensorSpec([None], dtype) for dtype in (tf.float32, tf.int32)]
        probabilities, labels = answer_in_chunks(tf.size(windows.text), answer, kinds, windows.rows_at_once())
        return {
            "num_tokens": lengths,
            "tokens": tf.gather(tf.constant(self.vocabulary), token_ids).to_tensor(""),
            "labels": token_ids.with_values(tf.gather(tf.constant(self.model.label_names), labels)).to_tensor(""),
            "probabilities": token_ids.with_values(probabilities).to_tensor(),
            "starts": starts.to_tensor(),
            "ends": ends.to_tensor(),
        }

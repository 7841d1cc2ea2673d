"""The graph that answers which class each token of a text has."""

import tensorflow as tf

from kbert.data.text_ops import GraphTokenizer
from kbert.export.chunks import answer_in_chunks


class TagGraph:
    """Give each token of texts its most probable class.

    A text that is longer than the model is cut at its end. No text is refused.

    Args:
        model: `BertTagger` on the TensorFlow backend.
        tokenizer: `WordPieceTokenizer`.

    Call arguments:
        text: string `[B]`, UTF-8. Other bytes are left out.

    Returns:
        dict, T the tokens of the text that has most (as many as the model reads, less [CLS] and [SEP]), filler 0 or "":
            num_tokens: int32 `[B]`.
            tokens, labels: string `[B, T]`; "##" in front of a token continues the word before.
            probabilities: float32 `[B, T]`, of the label.
            starts, ends: int32 `[B, T]`, the characters of the token in the text.
    """

    def __init__(self, model, tokenizer):
        self.model = model
        self.tokenizer = GraphTokenizer(tokenizer)
        self.vocabulary = tokenizer.vocabulary
        self.room = model.backbone.config.max_sequence_length - 2

    def __call__(self, text):
        # What the model does not read is cut before it is answered.
        token_ids, starts, ends = (part[:, : self.room] for part in self.tokenizer.tokenize_with_offsets(text))

        def answer(start, end):
            rows = self.tokenizer.frame([token_ids[start:end]])
            states = self.model.backbone(rows, training=False)["sequence_output"]
            logits = self.model.classifier_head(states, training=False)  # [n, T, C]
            logits = tf.RaggedTensor.from_tensor(logits[:, 1:], token_ids[start:end].row_lengths()).values
            return tf.reduce_max(tf.nn.softmax(logits), 1), tf.argmax(logits, 1, tf.int32)

        kinds = [tf.TensorSpec([None], dtype) for dtype in (tf.float32, tf.int32)]
        probabilities, labels = answer_in_chunks(tf.cast(token_ids.nrows(), tf.int32), answer, kinds)
        return {
            "num_tokens": tf.cast(token_ids.row_lengths(), tf.int32),
            "tokens": tf.gather(tf.constant(self.vocabulary), token_ids).to_tensor(""),
            "labels": token_ids.with_values(tf.gather(tf.constant(self.model.label_names), labels)).to_tensor(""),
            "probabilities": token_ids.with_values(probabilities).to_tensor(),
            "starts": starts.to_tensor(),
            "ends": ends.to_tensor(),
        }

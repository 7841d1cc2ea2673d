"""The graphs that say something about a text, or a pair of texts, as a whole."""

import tensorflow as tf

from kbert.data.text_ops import GraphTokenizer
from kbert.export.chunks import answer_in_chunks, rows_that_fit
from kbert.export.few_lengths import round_up_length


class WholeTextGraph:
    """Encode texts or pairs in the graph, and make an answer of what the encoder says.

    A text that is longer than the model is cut as `WordPieceTokenizer.pack` does: tokens go from the end of the longer
    text of a pair. No text is refused; of an empty one the model reads [CLS] and [SEP].

    Args:
        model: a model of kbert with a `backbone`, on the TensorFlow backend.
        tokenizer: `WordPieceTokenizer`.
        answer: function of (what the backbone returns, padding_mask) for some rows; it returns a dict of tensors
            `[n, ...]`.
        outputs: dict of the names of these tensors to their `tf.TensorSpec`, with None for n.

    Call arguments:
        text: string `[B]`, UTF-8. Other bytes are left out.
        text_pair: string `[B]`, the second text of each pair; or absent.

    Returns:
        dict of tensors `[B, ...]`.
    """

    def __init__(self, model, tokenizer, answer, outputs):
        self.backbone = model.backbone
        self.tokenizer = GraphTokenizer(tokenizer)
        self.answer = answer
        self.outputs = outputs

    def __call__(self, *texts):
        # Texts given in different numbers are the caller's error, which must not pass as an answer to some of them.
        texts = tf.unstack(tf.stack(texts))
        packed = self.tokenizer.pack(*texts, max_sequence_length=self.backbone.config.max_sequence_length)
        lengths = tf.reduce_sum(packed["padding_mask"], 1)

        def answer(start, end):
            longest = tf.reduce_max(lengths[start:end])
            rows = {name: value[start:end, :longest] for name, value in packed.items()}
            rows = round_up_length(rows, self.backbone.config.max_sequence_length)
            answers = self.answer(self.backbone(rows, training=False), rows["padding_mask"])
            return [answers[name] for name in self.outputs]

        at_once = rows_that_fit(tf.shape(packed["padding_mask"])[1])
        answers = answer_in_chunks(tf.size(lengths), answer, self.outputs.values(), at_once)
        return dict(zip(self.outputs, answers, strict=True))


def sentence_pair_graph(model, tokenizer):
    """Return the graph of `kbert.inference.SentencePair`: `follows` and `random`, float32 `[B]`."""

    def answer(encoded, _):
        probabilities = tf.nn.softmax(model.nsp_head(encoded["pooled_output"]))  # [n, 2]
        return {"follows": probabilities[:, 0], "random": probabilities[:, 1]}

    number = tf.TensorSpec([None], tf.float32)
    return WholeTextGraph(model, tokenizer, answer, {"follows": number, "random": number})


def embed_graph(model, tokenizer):
    """Return the graph of `kbert.inference.EmbedText`: the last layer's `mean` and `cls`, float32 `[B, D]`."""

    def answer(encoded, padding_mask):
        states = encoded["sequence_output"]  # [n, T, D]
        real = tf.cast(padding_mask, states.dtype)[:, :, None]
        return {"mean": tf.reduce_sum(states * real, 1) / tf.reduce_sum(real, 1), "cls": states[:, 0]}

    vector = tf.TensorSpec([None, model.backbone.config.hidden_dim], tf.float32)
    return WholeTextGraph(model, tokenizer, answer, {"mean": vector, "cls": vector})


def classify_graph(model, tokenizer):
    """Return the graph of a `BertClassifier`.

    For classes and labels `labels`, string `[B, C]`, most probable first, and their `probabilities`, float32 `[B, C]`;
    for a regression `labels` in the model's order and the numbers, `values`.
    """
    num_labels = len(model.label_names)
    names = tf.constant(model.label_names)

    def answer(encoded, _):
        logits = model.classifier_head(encoded["pooled_output"], training=False)  # [n, C]
        if model.problem == "regression":
            return {"labels": tf.tile(names[None], [tf.shape(logits)[0], 1]), "values": logits}
        best = tf.math.top_k(tf.nn.softmax(logits) if model.problem == "one_class" else tf.sigmoid(logits), num_labels)
        return {"labels": tf.gather(names, best.indices), "probabilities": best.values}

    numbers = "values" if model.problem == "regression" else "probabilities"
    kinds = {"labels": tf.string, numbers: tf.float32}
    outputs = {name: tf.TensorSpec([None, num_labels], kind) for name, kind in kinds.items()}
    return WholeTextGraph(model, tokenizer, answer, outputs)

"""The graph that answers a question with words of a text."""

import tensorflow as tf

from kbert.data.text_ops import GraphTokenizer
from kbert.export.best_spans import NO_SCORE, best_spans_of_texts, best_spans_of_windows
from kbert.export.chunks import answer_in_chunks
from kbert.export.few_lengths import round_up_length
from kbert.export.windows import cut_windows, find_best_places
from kbert.tasks.windows import MAX_QUESTION_LENGTH


class AnswerGraph:
    """Find the best span of a context for a question, as `kbert.inference.Answer` does.

    A context longer than the model is read in windows; see `kbert.tasks.windows`. No text is refused.

    Args:
        model: `BertSpanFinder` on the TensorFlow backend.
        tokenizer: `WordPieceTokenizer`.

    Call arguments:
        question, context: string `[B]`, UTF-8. Other bytes are left out.

    Returns:
        dict of tensors `[B]`:
            text: string, the answer as it stands in the context; "" if that has no words.
            start, end: int32, its characters in the context.
            score: float32, the sum of its two logits; `no_answer_score` if the context has no words.
            no_answer_score: float32, the lowest sum of the two logits of [CLS] over all windows.
    """

    def __init__(self, model, tokenizer):
        self.model = model
        self.tokenizer = GraphTokenizer(tokenizer)
        self.longest = model.backbone.config.max_sequence_length
        self.longest_question = min(MAX_QUESTION_LENGTH, (self.longest - 3) // 2)

    def __call__(self, question, context):
        # As many questions as contexts; else the caller's error would pass as an answer to some of them.
        question, context = tf.unstack(tf.stack([question, context]))
        num_texts = tf.size(context)
        questions = self.tokenizer.tokenize(question)[:, : self.longest_question]
        token_ids, *offsets = self.tokenizer.tokenize_with_offsets(context)
        place = 2 + tf.cast(questions.row_lengths(), tf.int32)  # Behind [CLS] question [SEP].
        windows = cut_windows(place, tf.cast(token_ids.row_lengths(), tf.int32), self.longest)

        def answer(start, end):
            here = windows.part(start, end)
            of_best, of_all, no_answer = self._ask(tf.gather(questions, here.text), here.gather(token_ids), here)
            return *of_best, *of_all, no_answer

        kinds = [tf.TensorSpec([None], kind) for kind in (*[tf.float32, tf.int32, tf.int32] * 2, tf.float32)]
        *spans, no_answer = answer_in_chunks(tf.size(windows.text), answer, kinds, windows.rows_at_once())
        best = best_spans_of_texts(spans[:3], spans[3:], windows.first, windows.text, num_texts)
        no_answer = tf.math.unsorted_segment_min(no_answer, windows.text, num_texts)
        return self._describe(context, offsets, best, no_answer)

    def _ask(self, questions, tokens, windows):
        """Return the best spans of windows, and the score of no answer `[rows]`."""
        rows = round_up_length(self.tokenizer.frame([questions, tokens]), self.longest)
        outputs = self.model(rows, training=False)
        no_answer = outputs["start"][:, 0] + outputs["end"][:, 0]
        width = tf.maximum(1, tf.reduce_max(windows.length))
        # Behind the last token of a window any logit will do.
        places = tf.minimum(windows.place[:, None] + tf.range(width), tf.shape(outputs["start"])[1] - 1)
        starts, ends = (tf.gather(outputs[name], places, batch_dims=1) for name in ("start", "end"))
        may_start = find_best_places(windows, width, self.longest)
        return *best_spans_of_windows(starts, ends, windows.length, may_start), no_answer

    @staticmethod
    def _describe(context, offsets, best, no_answer):
        score, first, last = best
        found = score > NO_SCORE
        text_start = tf.cast(offsets[0].row_starts(), tf.int32)  # The first token of each text among all tokens.
        starts, ends = (tf.concat([part.values, [0]], 0) for part in offsets)  # One more, for no tokens at all.
        start, end = (
            tf.where(found, tf.gather(part, tf.where(found, text_start + token, 0)), 0)
            for part, token in ((starts, first), (ends, last))
        )
        context = tf.strings.unicode_transcode(context, "UTF-8", "UTF-8", errors="ignore")
        return {
            "text": tf.strings.substr(context, start, end - start, unit="UTF8_CHAR"),
            "start": start,
            "end": end,
            "score": tf.where(found, score, no_answer),
            "no_answer_score": no_answer,
        }

"""Which words of a text answer a question?"""

import dataclasses

from kbert.inference.fine_tuned import ask_rows, open_fine_tuned
from kbert.models import BertSpanFinder
from kbert.tasks.batches import Row, group_by_example
from kbert.tasks.spans import MAX_ANSWER_LENGTH, NUM_BEST, best_spans
from kbert.tasks.windows import cut_windows


@dataclasses.dataclass(frozen=True)
class TextAnswer:
    """One answer to a question.

    Attributes:
        text: str, as it stands in the context; "" for no answer.
        start, end: int, its characters in the context, `context[start:end] == text`; 0, 0 for no answer.
        probability: float in [0, 1], among the best answers, no answer included if that was asked for.
        score: float, the sum of its two logits.
    """

    text: str
    start: int
    end: int
    probability: float
    score: float


class Answer:
    """Answer questions from a text with a fine-tuned `BertSpanFinder`.

    A context longer than the model is read in windows; see `kbert.tasks.windows`.

    Args:
        source: checkpoint folder, `Checkpoint`, a `BertSpanFinder`, or a callable that takes `token_ids`,
            `segment_ids`, `padding_mask` int32 `[B, T]` and returns a dict with `start` and `end`, logits `[B, T]`.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, tokens of a window; None for the model's own. A callable needs it.
        stride: int >= 1, tokens between the starts of two windows; None for 128, or half a row if that is less.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: the model is no `BertSpanFinder`.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None, stride=None):
        self.source = open_fine_tuned(source, BertSpanFinder, tokenizer, max_sequence_length)
        self.stride = stride

    def __call__(
        self,
        question,
        context,
        top_k=1,
        may_be_absent=False,
        null_threshold=0.0,
        max_answer_length=MAX_ANSWER_LENGTH,
    ):
        """Return the best answers to one question, or to each of two equally long lists.

        Args:
            question: str, or list of str.
            context: str, or list of str.
            top_k: int in [1, 20].
            may_be_absent: bool. True, for a model trained on SQuAD 2.0: "", no answer, is among the answers.
            null_threshold: float. No answer comes first where its score is above that of the best span by more than
                this; else the spans do. training/finetune.py finds the best value on dev and prints it.
            max_answer_length: int >= 1, tokens.

        Returns:
            list of at most `top_k` `TextAnswer`, best first; for lists a list of such lists. It is empty for a context
            of nothing but blanks.

        Raises:
            ValueError: a question is empty, the lists differ in length, or `top_k` is out of its range.
        """
        if not 1 <= top_k <= NUM_BEST:
            raise ValueError(f"`top_k` must be between 1 and {NUM_BEST}. Received: {top_k=}.")
        single = isinstance(question, str)
        pairs = [(question, context)] if single else list(zip(question, context, strict=True))
        rows = self._rows(pairs)
        outputs = ask_rows(self.source, rows, "start", "end")
        answers = []
        for (_, text), group in zip(pairs, group_by_example(rows, outputs, len(pairs)), strict=True):
            windows, starts, ends = zip(*((row.extra, *output) for row, output in group), strict=True)
            spans = best_spans(windows, starts, ends, max_answer_length=max_answer_length, may_be_absent=may_be_absent)
            spans = _settle_absence(spans, null_threshold) if may_be_absent else spans
            answers.append([_answer(text, span) for span in spans[:top_k]])
        return answers[0] if single else answers

    def _rows(self, pairs):
        rows = []
        for index, (question, text) in enumerate(pairs):
            if not question.strip():
                raise ValueError("A question must have at least one word. Received: an empty question.")
            windows = cut_windows(self.source.tokenizer, question, text, self.source.max_sequence_length, self.stride)
            rows += [Row((window.packed,), example=index, extra=window) for window in windows]
        return rows


def _settle_absence(spans, null_threshold):
    """Put no answer first where it wins by more than the threshold, and behind the best span where it does not."""
    absent = next(span for span in spans if not span.end)
    others = [span for span in spans if span.end]
    if not others or absent.score - others[0].score > null_threshold:
        return [absent, *others]
    place = max(1, spans.index(absent))
    return [*others[:place], absent, *others[place:]]


def _answer(text, span):
    return TextAnswer(text[span.start : span.end], span.start, span.end, span.probability, span.score)

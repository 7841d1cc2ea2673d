"""Which names, or other tagged spans, are in a text?"""

import dataclasses

import numpy as np

from kbert.inference.fine_tuned import ask_rows, open_fine_tuned
from kbert.inference.rows import softmax
from kbert.models import BertTagger
from kbert.tasks.batches import Row, group_by_example
from kbert.tasks.tags import is_span_tag, spans_of_tags
from kbert.tasks.windows import cut_windows, join_windows

STRATEGIES = FIRST, AVERAGE, MAX, PIECES = "first", "average", "max", "pieces"


@dataclasses.dataclass(frozen=True)
class TaggedSpan:
    """A part of a text with its tag.

    Attributes:
        label: str, the kind of the span, such as "PER"; the tag itself for tags that are no spans.
        text: str, as it stands in the text.
        start, end: int, its characters, `text[start:end]`.
        probability: float in [0, 1], the mean of its words' (or pieces') tags.
    """

    label: str
    text: str
    start: int
    end: int
    probability: float


class Tag:
    """Find tagged spans with a fine-tuned `BertTagger`.

    A text longer than the model is read in windows; see `kbert.tasks.windows`.

    Args:
        source: checkpoint folder, `Checkpoint`, a `BertTagger`, or a callable that takes `token_ids`, `segment_ids`,
            `padding_mask` int32 `[B, T]` and returns a dict with `logits` `[B, T, C]`.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, tokens of a window; None for the model's own. A callable needs it.
        stride: int >= 1, tokens between the starts of two windows; None for 128, or half a row if that is less.
        label_names: tuple of C str, with a callable only.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: the model is no `BertTagger`, or a callable came without `label_names`.
    """

    def __init__(self, source, tokenizer=None, max_sequence_length=None, stride=None, label_names=None):
        self.source = open_fine_tuned(source, BertTagger, tokenizer, max_sequence_length)
        self.stride = stride
        self.label_names = tuple(label_names or getattr(self.source.model, "label_names", ()))
        if not self.label_names:
            raise ValueError("A callable must come with its `label_names`. Received: label_names=None.")
        self.has_spans = all(is_span_tag(name) for name in self.label_names)

    def __call__(self, text, strategy=None):
        """Return the tagged spans of a text, in reading order.

        Args:
            text: str, or a list of str (answered in batches).
            strategy: how the pieces of a word, such as play ##ing, get one tag. "first": that of the first piece;
                "average": that of the mean probabilities; "max": that of the surest piece; "pieces": each its own.
                None: as the model was trained, "pieces" if it learnt from text tagged character by character, such as
                KLUE-NER (`BertTagger.tags_pieces`), else "first".

        Returns:
            list of `TaggedSpan`; for a list of texts a list of such lists.

        Raises:
            ValueError: there is no such strategy.
        """
        if strategy is None:
            strategy = PIECES if getattr(self.source.model, "tags_pieces", False) else FIRST
        if strategy not in STRATEGIES:
            raise ValueError(f"`strategy` must be one of {STRATEGIES}. Received: strategy={strategy!r}.")
        texts = [text] if isinstance(text, str) else list(text)
        answers = [
            self._spans(one, self._words(*pieces, strategy))
            for one, pieces in zip(texts, self.read_pieces(texts), strict=True)
        ]
        return answers[0] if isinstance(text, str) else answers

    def read_pieces(self, texts):
        """Yield what the model says of each piece of each text.

        Args:
            texts: list of str.

        Yields:
            (token ids int32 `[n]`, offsets int32 `[n, 2]` in characters, probabilities float `[n, C]`) of a text.
        """
        rows = []
        for index, text in enumerate(texts):
            windows = cut_windows(self.source.tokenizer, None, text, self.source.max_sequence_length, self.stride)
            rows += [Row((window.packed,), example=index, extra=window) for window in windows]
        outputs = ask_rows(self.source, rows, "logits")
        for group in group_by_example(rows, outputs, len(texts)):
            windows, logits = zip(*((row.extra, output[0]) for row, output in group), strict=True)
            token_ids = join_windows(windows, [window.packed.token_ids for window in windows])
            offsets = np.concatenate([window.offsets[window.is_best] for window in windows])
            yield token_ids, offsets, softmax(join_windows(windows, logits))

    def _words(self, token_ids, offsets, probabilities, strategy):
        """Return (tag, probability, start, end) of each word, or of each piece."""
        words = []
        for place, token_id in enumerate(token_ids):
            goes_on = self.source.tokenizer.id_to_token(int(token_id)).startswith("##")
            if words and goes_on and strategy != PIECES:
                words[-1].append(place)
            else:
                words.append([place])
        found = []
        for places in words:
            merged = _merge(probabilities[places], strategy)
            best = int(np.argmax(merged))
            found.append(
                (self.label_names[best], float(merged[best]), int(offsets[places[0], 0]), int(offsets[places[-1], 1]))
            )
        return found

    def _spans(self, text, words):
        tags = [tag for tag, *_ in words]
        if self.has_spans:
            spans = spans_of_tags(tags)
        else:
            spans = [(place, place + 1, tag) for place, tag in enumerate(tags)]
        return [
            TaggedSpan(
                label=kind,
                text=text[words[first][2] : words[end - 1][3]],
                start=words[first][2],
                end=words[end - 1][3],
                probability=float(np.mean([probability for _, probability, *_ in words[first:end]])),
            )
            for first, end, kind in spans
        ]


def _merge(probabilities, strategy):
    """Return the probabilities of a word from those of its pieces, `[n, C]`."""
    if strategy == AVERAGE:
        return probabilities.mean(0)
    if strategy == MAX:
        return probabilities[np.argmax(probabilities.max(-1))]
    return probabilities[0]

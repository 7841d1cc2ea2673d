"""The windows of a text that is longer than the model, each behind a question if there is one."""

import dataclasses
import functools

import numpy as np

from kbert.text.tokenizer import PackedText

MAX_QUESTION_LENGTH = 64
DEFAULT_STRIDE = 128


@dataclasses.dataclass(frozen=True)
class Window:
    """One row, and where its part of the text lies.

    Attributes:
        packed: `PackedText`: [CLS] question [SEP] part of the text [SEP], or [CLS] part of the text [SEP]; its offsets
            are not filled in.
        place: int, place in the row of the window's first token of the text.
        start: int, the number of that token in the text.
        offsets: int `[n, 2]`, the characters (start, end) in the text of the n tokens of this window.
        is_best: bool `[n]`. True where no other window shows the token with more text on both sides.
    """

    packed: PackedText
    place: int
    start: int
    offsets: np.ndarray
    is_best: np.ndarray

    def position_of(self, first, last):
        """Return the places in the row of two tokens of the text; those of [CLS], (0, 0), if one is not here."""
        if first < self.start or last >= self.start + len(self.offsets):
            return 0, 0
        return self.place + first - self.start, self.place + last - self.start


@functools.lru_cache(maxsize=64)  # All questions about a paragraph stand together.
def split_text(tokenizer, text):
    """Return (token ids int32 `[n]`, offsets int32 `[n, 2]`) of a text, without [CLS] and [SEP]."""
    packed = tokenizer.pack(text)
    offsets = np.array(packed.offsets[1:-1], "int32").reshape(-1, 2)
    return np.array(packed.token_ids[1:-1], "int32"), offsets


def default_stride(room):
    """Return `DEFAULT_STRIDE`, or half of the tokens of text that fit in a row if that is less: neighbours overlap."""
    return min(DEFAULT_STRIDE, max(1, room // 2))


def cut_windows(tokenizer, question, text, max_sequence_length, stride=None):
    """Cut a text into windows, each behind the question if there is one.

    Args:
        tokenizer: `WordPieceTokenizer`.
        question: str, cut to `MAX_QUESTION_LENGTH` tokens, or to half of the row if that is less; or None.
        text: str.
        max_sequence_length: int >= 5, tokens of a row.
        stride: int >= 1, tokens between the starts of two windows; less where fewer fit in a row, so that none is
            skipped. None for `default_stride`.

    Returns:
        list of `Window`; one for a text that fits.

    Raises:
        ValueError: `stride` or `max_sequence_length` is out of its range.

    Source: google-research/bert `run_squad.convert_examples_to_features`.
    """
    if (stride is not None and stride < 1) or max_sequence_length < 5:
        raise ValueError(
            "`stride` must be at least 1, `max_sequence_length` at least 5. "
            f"Received: stride={stride}, max_sequence_length={max_sequence_length}."
        )
    special = tokenizer.special_token_ids
    head = np.array([special["[CLS]"]])
    if question is not None:
        longest = min(MAX_QUESTION_LENGTH, (max_sequence_length - 3) // 2)
        head = np.concatenate([head, split_text(tokenizer, question)[0][:longest], [special["[SEP]"]]])
    place = len(head)
    token_ids, offsets = split_text(tokenizer, text)
    room = max_sequence_length - place - 1
    step = default_stride(room) if stride is None else min(stride, room)
    starts = list(range(0, max(1, len(token_ids) - room + step), step))
    lengths = [min(room, len(token_ids) - start) for start in starts]
    best = _best_windows(len(token_ids), starts, lengths)
    windows = []
    for number, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        chosen = slice(start, start + length)
        row = np.concatenate([head, token_ids[chosen], [special["[SEP]"]]]).astype("int32")
        segment_ids = (np.arange(len(row)) >= place) & (question is not None)
        packed = PackedText(row, segment_ids.astype("int32"), ())
        windows.append(Window(packed, place, start, offsets[chosen], best[chosen] == number))
    return windows


def _best_windows(num_tokens, starts, lengths):
    """Return for each token the first window with the largest min(left, right) + 0.01 length.

    Source: google-research/bert `run_squad._check_is_max_context`.
    """
    best_scores = np.full(num_tokens, -1.0)
    best = np.zeros(num_tokens, "int32")
    for number, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        left = np.arange(length)
        scores = np.minimum(left, left[::-1]) + 0.01 * length
        chosen = slice(start, start + length)
        better = scores > best_scores[chosen]
        best_scores[chosen] = np.where(better, scores, best_scores[chosen])
        best[chosen] = np.where(better, number, best[chosen])
    return best


def join_windows(windows, values):
    """Return the values of all tokens of a text, each from the window that shows it with most text round it.

    Args:
        windows: list of `Window` of one text.
        values: list of arrays `[T, ...]`, one value a place in each window's row.
    """
    parts = [
        value[window.place : window.place + len(window.offsets)][window.is_best]
        for window, value in zip(windows, values, strict=True)
    ]
    return np.concatenate(parts)


def find_tokens(offsets, start, end):
    """Return (first, last) of the tokens that touch the characters [start, end), or None."""
    touching = np.flatnonzero((offsets[:, 1] > start) & (offsets[:, 0] < end))
    return (int(touching[0]), int(touching[-1])) if len(touching) else None

"""How far are the answers of a SavedModel from those of `kbert.inference`?

Each function takes what a signature answered, a dict of NumPy arrays, the reference, and the texts that were asked. It
returns the largest difference of a number, for vectors and logits in proportion to the largest of them if that is above
1; or infinity where words, places or counts differ or a number is none.
"""

import math

import numpy as np

from kbert.export.fill_mask import MAX_MASKS
from kbert.inference.masked_text import MASK

# Words ranked beyond those asked for: where two are all but equally probable, either may come first, or be the last.
_SPARE_WORDS = 8


def compare_fill_mask(answers, fill_mask, texts):
    """Compare with a `FillMask`. A text without a mask must have no answer, and masks beyond `MAX_MASKS` none."""
    texts = [_decode(text) for text in texts]
    asked = [index for index, text in enumerate(texts) if MASK in text]
    top_k = answers["words"].shape[2] if answers["words"].size else 1  # JSON leaves no shape of what is empty.
    num_ranked = min(top_k + _SPARE_WORDS, fill_mask.tokenizer.vocabulary_size)
    expected = dict.fromkeys(range(len(texts)), ())
    expected |= zip(asked, fill_mask([texts[index] for index in asked], num_ranked) if asked else (), strict=True)
    if answers["num_masks"].tolist() != [len(expected[index]) for index in range(len(texts))]:
        return math.inf
    differences = [
        _compare_mask({name: values[index, number] for name, values in answers.items() if name != "num_masks"}, mask)
        for index, masks in expected.items()
        for number, mask in enumerate(masks[:MAX_MASKS])
    ]
    return max(differences, default=0.0)


def _compare_mask(answer, mask):
    places = [answer[name] for name in ("starts", "ends", "window_starts", "window_ends")]
    if places != [mask.start, mask.end, *mask.window]:
        return math.inf
    known = {candidate.token_id: candidate for candidate in mask.candidates}
    differences = []
    for rank, (word, token_id, probability) in enumerate(
        zip(answer["words"], answer["token_ids"], answer["probabilities"], strict=True)
    ):
        candidate = known.pop(int(token_id), None)  # Each word but once.
        if candidate is None or candidate.word != _decode(word):
            return math.inf
        differences += [
            probability - candidate.probability,
            probability - mask.candidates[rank].probability,
        ]
    return _largest(differences)


def compare_sentence_pair(answers, sentence_pair, firsts, seconds):
    """Compare with a `SentencePair`. Pairs that it refuses must have an answer."""
    pairs, kept = _answerable(zip(firsts, seconds, strict=True))
    verdicts = sentence_pair(*zip(*pairs, strict=True), truncate=True) if pairs else []
    expected = {
        "follows": [verdict.follows for verdict in verdicts],
        "random": [verdict.random for verdict in verdicts],
    }
    return _compare_arrays(answers, expected, kept, len(firsts))


def compare_embed(answers, embed_by_pooling, firsts, seconds=None):
    """Compare with a dict of an `EmbedText` for each output, "mean" and "cls". Texts it refuses must have an answer."""
    texts, kept = _answerable([(first,) for first in firsts] if seconds is None else zip(firsts, seconds, strict=True))
    texts = [text[0] if seconds is None else text for text in texts]
    expected = {name: embed(texts, truncate=True) if texts else [] for name, embed in embed_by_pooling.items()}
    return _compare_arrays(answers, expected, kept, len(firsts))


def compare_outputs(answers, expected):
    """Compare with a dict of arrays."""
    if answers.keys() != expected.keys() or any(answers[name].shape != expected[name].shape for name in answers):
        return math.inf
    return max(_relative(answers[name], expected[name]) for name in answers)


def _compare_arrays(answers, expected, kept, num_texts):
    if any(len(answers[name]) != num_texts or not np.isfinite(answers[name]).all() for name in expected):
        return math.inf
    pairs = ((answers[name][kept], np.array(values)) for name, values in expected.items() if len(values))
    return max((_relative(answered, values) for answered, values in pairs), default=0.0)


def _answerable(texts):
    """Return the texts that `kbert.inference` answers, as str, and their places."""
    decoded = [tuple(map(_decode, text)) for text in texts]
    kept = [index for index, text in enumerate(decoded) if all(part.strip() for part in text)]
    return [decoded[index] for index in kept], kept


def _decode(text):
    return text if isinstance(text, str) else text.decode("utf-8", "ignore")


def _relative(answered, expected):
    # Logits of 20 have fewer digits behind the point than probabilities, those among them that are near 0 too.
    return _largest(answered - expected) / max(1.0, float(np.max(np.abs(expected), initial=0.0)))


def _largest(differences):
    largest = float(np.max(np.abs(differences), initial=0.0))
    return largest if math.isfinite(largest) else math.inf

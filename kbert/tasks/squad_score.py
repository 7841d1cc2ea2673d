"""Exact match and F1 of answers to questions, as the official scripts of SQuAD 1.1, 2.0 and KorQuAD count them."""

import collections
import dataclasses
import re
import string
from collections.abc import Callable

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_KOREAN_MARKS = re.compile(r"[\'\"《》<>〈〉()‘’]")


def normalize_english(text):
    """Return an answer in lower case, without punctuation, articles and superfluous blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def normalize_korean(text):
    """Return an answer in lower case, without punctuation and superfluous blanks; quotes and brackets are blanks."""
    return " ".join(_KOREAN_MARKS.sub(" ", text).lower().translate(_PUNCTUATION).split())


@dataclasses.dataclass(frozen=True)
class Script:
    """How one official script counts.

    Attributes:
        normalize: function of an answer that returns what is compared.
        split: function of that which returns the list that F1 counts: words, or characters.
        knows_no_answer: bool. True: references that are nothing but punctuation and articles do not count, no
            reference means no answer, and F1 of two empty answers is 1. False: it is 0.
    """

    normalize: Callable
    split: Callable
    knows_no_answer: bool


SCRIPTS = {
    "evaluate-v1.1": Script(normalize_english, str.split, False),
    "evaluate-v2.0": Script(normalize_english, str.split, True),
    "evaluate-korquad_v1.0": Script(normalize_korean, lambda text: list(text.replace(" ", "")), False),
}


def score_answer(text, references, script):
    """Return (exact match, F1), each 0 to 1, against the nearest of several references.

    Args:
        text: str, "" for no answer.
        references: list of str; none means no answer.
        script: name in `SCRIPTS`.
    """
    rule = SCRIPTS[script]
    answer = rule.normalize(text)
    wanted = [rule.normalize(reference) for reference in references]
    if rule.knows_no_answer:
        wanted = [form for form in wanted if form] or [""]
    exact = max(float(answer == form) for form in wanted)
    return exact, max(_f1(rule, answer, form) for form in wanted)


def _f1(rule, answer, wanted):
    if rule.knows_no_answer and not (answer and wanted):
        return float(answer == wanted)
    answer, wanted = rule.split(answer), rule.split(wanted)
    common = sum((collections.Counter(answer) & collections.Counter(wanted)).values())
    return 2 * common / (len(answer) + len(wanted)) if common else 0.0


def score_answers(answers, references, script):
    """Return {"exact", "f1"} over all questions, in percent.

    Args:
        answers: dict of question id to text. A question without one counts 0, as in evaluate-v1.1.py; evaluate-v2.0.py
            would leave it out of the mean.
        references: dict of question id to list of str.
        script: name in `SCRIPTS`.
    """
    scores = [
        score_answer(answers[name], texts, script) if name in answers else (0.0, 0.0)
        for name, texts in references.items()
    ]
    exact, f1 = (100 * sum(values) / len(scores) for values in zip(*scores, strict=True))
    return {"exact": exact, "f1": f1}


def best_threshold(answers, null_differences, references, script):
    """Find the threshold above which no answer is better than the best span, by F1 over a set.

    Args:
        answers: dict of question id to the text of the best span.
        null_differences: dict of question id to the score of no answer minus that of the best span. Above the
            threshold the question counts as unanswerable.
        references: dict of question id to list of str; empty for unanswerable.
        script: name in `SCRIPTS`.

    Returns:
        float, one of `null_differences`, or less than all of them where every question is best left without answer.

    Source: evaluate-v2.0.py, `find_best_thresh`.
    """
    order = sorted(references, key=lambda name: null_differences[name])
    current = best = sum(score_answer("", texts, script)[1] for texts in references.values())
    threshold = null_differences[order[0]] - 1.0
    for place, name in enumerate(order):
        current += score_answer(answers[name], references[name], script)[1]
        current -= score_answer("", references[name], script)[1]
        # Of equal differences all are answered, or none is.
        is_last = place + 1 == len(order) or null_differences[order[place + 1]] > null_differences[name]
        if is_last and current > best:
            best, threshold = current, null_differences[name]
    return threshold

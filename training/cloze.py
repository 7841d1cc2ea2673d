"""Ask a model everyday cloze sentences, and count how often a fitting word is among its first five answers.

    python -m training.cloze kbert-small-en training/cloze/en.tsv

A line of the file is a sentence with one [MASK], a tab, and the words that fit, with a blank between two. The files of
this folder were written before the models were asked. A word of several pieces can't be an answer and stays a miss.
"""

import training.quiet_start  # noqa: F401

# isort: split
import dataclasses
import json
import pathlib

from kbert.inference import FillMask
from training.arguments import one_line_errors, parse, setting


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    checkpoint: str = setting(text="checkpoint folder or preset")
    sentences: str = setting(text="file of sentences and fitting words")
    top_k: int = setting(5, "answers that count")


def main(argv=None):
    """Print the answers, with "+" before those that hold a fitting word; return the share of these."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        questions = read_questions(settings.sentences)
        fill_mask = FillMask(settings.checkpoint)
    right = 0
    for text, fitting in questions:
        (mask,) = fill_mask(text, top_k=settings.top_k)
        words = [candidate.word for candidate in mask.candidates]
        is_right = not fitting.isdisjoint(words)
        right += is_right
        print(f"{'+' if is_right else ' '} {text}  {', '.join(words)}")
    result = {"sentences": len(questions), "right": right, "top_k": settings.top_k}
    print(json.dumps(result))
    return result


def read_questions(path):
    """Return pairs of a text and the set of words that fit.

    Raises:
        ValueError: a line without one [MASK], one tab and a word; it names file and line.
    """
    questions = []
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        text, _, words = line.partition("\t")
        if text.count("[MASK]") != 1 or not words.split():
            raise ValueError(
                "A line must hold a text with one [MASK], a tab, and fitting words. "
                f"Received: line {number} of {path}: {line!r}."
            )
        questions.append((text, set(words.split())))
    return questions


if __name__ == "__main__":
    main()

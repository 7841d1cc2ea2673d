"""Which question does a fine-tuned checkpoint answer?"""

from kbert.convert import load
from kbert.inference.answer import Answer
from kbert.inference.choose import Choose
from kbert.inference.classify import Classify
from kbert.inference.tag import Tag
from kbert.models import BertClassifier, BertMultipleChoice, BertSpanFinder, BertTagger

QUESTIONS = {BertClassifier: Classify, BertTagger: Tag, BertSpanFinder: Answer, BertMultipleChoice: Choose}


def open_by_head(source):
    """Return `Classify`, `Tag`, `Answer` or `Choose`, whichever the head of a fine-tuned checkpoint is for.

    Args:
        source: checkpoint folder.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: the checkpoint was not fine-tuned.
    """
    checkpoint = load(source)
    question = QUESTIONS.get(type(checkpoint.model))
    if question is None:
        raise ValueError(
            f"A task must be a fine-tuned checkpoint. Received: {source}, a {type(checkpoint.model).__name__}. "
            "Fine-tune one with training/finetune.py."
        )
    return question(checkpoint)

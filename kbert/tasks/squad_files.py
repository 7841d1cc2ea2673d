"""Questions out of a file in SQuAD's format."""

import dataclasses
import json

from kbert.text.text_files import read_lines


@dataclasses.dataclass(frozen=True)
class Question:
    """A question about a text.

    Attributes:
        identity: str, its id.
        question: str.
        context: str, the text.
        answers: tuple of (text, first character in the context); empty if it cannot be answered from the text.
    """

    identity: str
    question: str
    context: str
    answers: tuple


def read_squad(path, may_be_absent, encoding="utf-8"):
    """Read every question of a file.

    Args:
        path: pathlib.Path of a JSON file, compressed or not.
        may_be_absent: bool. True: a question may have no answer, as in SQuAD 2.0.
        encoding: str, of the file.

    Returns:
        list of `Question`.

    Raises:
        ValueError: the file is no JSON of this format, a question or text is empty, an id comes twice, an answer does
            not stand where `answer_start` says, or is missing though every question must have one.
    """
    try:
        articles = json.loads("".join(line for _, line in read_lines(path, encoding)))["data"]
        raw = [
            (paragraph["context"], entry, f"question {entry['id']} of {path}")
            for article in articles
            for paragraph in article["paragraphs"]
            for entry in paragraph["qas"]
        ]
        questions = [_read(context, entry, where, may_be_absent) for context, entry, where in raw]
    except json.JSONDecodeError as error:
        raise ValueError(f"A file of questions must be JSON. Received: {path}: {error}.") from error
    except (KeyError, TypeError) as error:
        raise ValueError(
            "A file of questions must be in SQuAD's format: data, paragraphs, context, qas, id, question, answers, "
            f"text, answer_start. Received: {path} without {error}."
        ) from error
    identities = [question.identity for question in questions]
    if len(set(identities)) < len(identities):
        twice = next(name for name in identities if identities.count(name) > 1)
        raise ValueError(f"Each question must have an id of its own. Received: {twice} more than once in {path}.")
    if not questions:
        raise ValueError(f"A file of questions must hold some. Received: none in {path}.")
    return questions


def _read(context, entry, where, may_be_absent):
    question = entry["question"]
    if not context.strip() or not question.strip():
        raise ValueError(f"A question and its text must have at least one word. Received: an empty one, {where}.")
    if may_be_absent and entry.get("is_impossible", False):
        return Question(entry["id"], question, context, ())
    answers = tuple((answer["text"], answer["answer_start"]) for answer in entry["answers"])
    if not answers and not may_be_absent:
        raise ValueError(f"A question must have an answer. Received: none, {where}. SQuAD 2.0 is the task squad2.")
    for text, start in answers:
        if not text or context[start : start + len(text)] != text:
            raise ValueError(
                f"An answer must stand in the text where `answer_start` says. Received: {text!r} at {start}, where the "
                f"text has {context[start : start + len(text)]!r}, {where}."
            )
    return Question(entry["id"], question, context, answers)

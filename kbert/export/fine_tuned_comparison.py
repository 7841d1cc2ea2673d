"""How far are the answers of a fine-tuned SavedModel from those of its checkpoint, read by the eager tokenizer?

As `kbert.export.comparison`: the largest difference, or infinity.
"""

import math

import numpy as np

from kbert.inference.rows import batch_rows, softmax
from kbert.inference.slots import BATCH_SIZE
from kbert.tasks.spans import NUM_BEST


def compare_classify(answers, model, source, firsts, seconds=None):
    """Compare with the logits of a `BertClassifier`: each label must have the probability, or value, that it has there.

    Args:
        answers: dict of arrays, `labels` and `probabilities` or `values`.
        model: `BertClassifier`, asked for its labels.
        source: `kbert.inference.source.Source` of it.
        firsts: list of str or bytes.
        seconds: the second text of each; or None.
    """
    pairs = [(first,) for first in firsts] if seconds is None else list(zip(firsts, seconds, strict=True))
    logits = np.stack([outputs["logits"] for _, outputs in _read(source, pairs, "logits")])
    if model.problem == "regression":
        expected = logits
    else:
        expected = softmax(logits) if model.problem == "one_class" else 1 / (1 + np.exp(-logits.astype("float64")))
    found = answers["values" if model.problem == "regression" else "probabilities"]
    differences = []
    for labels, values, row in zip(answers["labels"], found, expected, strict=True):
        known = dict(zip(model.label_names, row, strict=True))
        names = [_decode(label) for label in labels]
        if sorted(names) != sorted(known):
            return math.inf
        ranked = row if model.problem == "regression" else -np.sort(-row)
        differences += [values - [known[name] for name in names], values - ranked]
    return _largest(differences)


def compare_tag(answers, tag, texts):
    """Compare with a `Tag`: tokens, offsets, and the probability that each label has there."""
    if len(answers["num_tokens"]) != len(texts):
        return math.inf
    names = {name: index for index, name in enumerate(tag.label_names)}
    differences = []
    for index, (token_ids, offsets, expected) in enumerate(tag.read_pieces([_decode(text) for text in texts])):
        count = len(token_ids)
        found = {name: values[index, :count] for name, values in answers.items() if name != "num_tokens"}
        tokens = [tag.source.tokenizer.id_to_token(int(token_id)) for token_id in token_ids]
        labels = [names.get(_decode(label), -1) for label in found["labels"]]
        if (
            answers["num_tokens"][index] != count
            or [_decode(token) for token in found["tokens"]] != tokens
            or not np.array_equal(np.stack([found["starts"], found["ends"]], 1), offsets)
            or -1 in labels
        ):
            return math.inf
        differences += [
            found["probabilities"] - expected[np.arange(count), labels],
            found["probabilities"] - expected.max(-1),
        ]
    return _largest(differences)


def compare_answer(answers, answer, questions, contexts):
    """Compare with an `Answer`: the words, their place, and both scores in proportion to the larger if above 1.

    The span must be among the best ones and have the score of the very best. An empty question, which `Answer` refuses,
    must have an answer.
    """
    pairs = [(_decode(question), _decode(context)) for question, context in zip(questions, contexts, strict=True)]
    if any(len(values) != len(pairs) for values in answers.values()) or not np.isfinite(answers["score"]).all():
        return math.inf
    kept = [index for index, (question, _) in enumerate(pairs) if question.strip()]
    asked = list(zip(*(pairs[index] for index in kept), strict=True))
    # No answer comes first at this threshold, whatever its score.
    expected = answer(*asked, top_k=NUM_BEST, may_be_absent=True, null_threshold=-math.inf) if asked else []
    differences = [
        _compare_span({name: values[index] for name, values in answers.items()}, spans, pairs[index][1])
        for index, spans in zip(kept, expected, strict=True)
    ]
    return _largest(differences)


def _compare_span(found, spans, context):
    absent, *spans = spans
    if not spans:  # A context of blanks.
        spans = [absent]
    place = int(found["start"]), int(found["end"])
    scores = {(span.start, span.end): span.score for span in spans}
    if place not in scores or _decode(found["text"]) != context[slice(*place)]:
        return [math.inf]
    pairs = [
        (found["no_answer_score"], absent.score),
        (found["score"], scores[place]),
        (found["score"], spans[0].score),
    ]
    return [(one - other) / max(1.0, abs(other)) for one, other in pairs]


def _read(source, texts, *names):
    """Yield the `PackedText` of each text, a tuple of parts, and a dict of the model's outputs for it."""
    longest = source.max_sequence_length
    rows = [source.tokenizer.pack(*map(_decode, parts), max_sequence_length=longest) for parts in texts]
    for start in range(0, len(rows), BATCH_SIZE):
        batch = rows[start : start + BATCH_SIZE]
        outputs = source.predict(batch_rows(batch, source.tokenizer.special_token_ids["[PAD]"], longest), *names)
        for place, packed in enumerate(batch):
            yield packed, {name: values[place] for name, values in zip(names, outputs, strict=True)}


def _decode(text):
    return text if isinstance(text, str) else text.decode("utf-8", "ignore")


def _largest(differences):
    largest = float(np.max(np.abs(np.concatenate([[0.0], *differences]))))
    return largest if math.isfinite(largest) else math.inf

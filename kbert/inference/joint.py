"""Which words stand at all the masks of a text together?

The rule: the joint probability of words w1 ... wn is the product of p(w1), p(w2 | w1), ... in reading order, each from
a pass of the model with the words before filled in and the masks after left. BERT was not trained to give one joint
distribution, so another order would give other numbers; these sum to 1 over all fillings.
"""

import dataclasses

import numpy as np

from kbert.inference.slots import predict_slots
from kbert.inference.targets import score_targets
from kbert.inference.windows import cut_window


@dataclasses.dataclass(frozen=True)
class FilledText:
    """One answer for all the masks of a text.

    Attributes:
        words: tuple of str, one a mask in reading order; "##" in front marks a piece that continues the word before.
        log_probability: float <= 0, natural logarithm of the joint probability.
        text: str, the text with all masks filled.
    """

    words: tuple
    log_probability: float
    text: str


@dataclasses.dataclass(frozen=True)
class _Beam:
    token_ids: tuple
    shift: int  # How far words of several pieces have moved the masks to come.
    words: tuple
    log_probability: float


def fill_jointly(source, masked, beam_size, targets=None):
    """Search the best fillings of one text with a beam.

    Exact if `beam_size` is at least the number of fillings of all masks but the last.

    Args:
        source: `Source` with the output `mlm`.
        masked: `MaskedText`.
        beam_size: int >= 1, partial fillings kept after each mask.
        targets: list of (word, token ids) from `read_targets`, the only words allowed; None for the vocabulary.

    Returns:
        list of at most `beam_size` `FilledText`, most probable first.
    """
    beams = [_Beam(masked.token_ids, 0, (), 0.0)]
    for position in masked.positions:
        places = [(beam.token_ids, position + beam.shift) for beam in beams]
        expand = _expand_vocabulary if targets is None else _expand_targets
        grown = [
            _Beam(
                token_ids[:place] + pieces + token_ids[place + 1 :],
                beam.shift + len(pieces) - 1,
                (*beam.words, word),
                beam.log_probability + log_probability,
            )
            for beam, (token_ids, place), found in zip(
                beams, places, expand(source, places, beam_size, targets), strict=True
            )
            for word, pieces, log_probability in found
        ]
        beams = sorted(grown, key=lambda beam: -beam.log_probability)[:beam_size]
    return [FilledText(beam.words, beam.log_probability, masked.fill(dict(enumerate(beam.words)))) for beam in beams]


def _expand_vocabulary(source, places, beam_size, _):
    slots = (cut_window(*place, source.max_sequence_length)[:2] for place in places)
    for answer in predict_slots(source, slots):
        best = np.argsort(-answer, kind="stable")[:beam_size].tolist()
        yield [(source.tokenizer.id_to_token(token), (token,), float(answer[token])) for token in best]


def _expand_targets(source, places, _, targets):
    for scores in score_targets(source, places, targets):
        yield [(word, pieces, score) for (word, pieces), score in zip(targets, scores, strict=True)]

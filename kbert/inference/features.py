"""Which vectors stand for the tokens of each line of a file?"""

import itertools
import re

from kbert.inference.hidden_states import choose_layers, predict_hidden_states
from kbert.inference.slots import BATCH_SIZE, BATCHES_AHEAD
from kbert.inference.source import open_source

DEFAULT_LAYERS = (-1, -2, -3, -4)


def extract_features(source, lines, layers=DEFAULT_LAYERS, tokenizer=None, max_sequence_length=None):
    """Yield the token vectors of each line, as Google's `extract_features.py` writes them.

    Args:
        source: preset name such as "kbert-small-en", checkpoint folder, `Checkpoint`, a `BertPretrainer` or
            `BertBackbone`, or a callable; see `kbert.inference.source.Source`.
        lines: iterable of str, a text each or a pair "first ||| second". An empty line is [CLS] [SEP].
        layers: sequence of int, -1 = last layer, -2 = the one before.
        tokenizer: `WordPieceTokenizer`, with a model or callable only.
        max_sequence_length: int, longer lines are cut to it; None for the model's own. A callable needs it.

    Yields:
        dict, ready for JSON: `linex_index`, the number of the line from 0, and `features`, for each token a dict of
        `token` and `layers`, for each layer a dict of `index` and `values`, D numbers rounded to 6 decimals.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: the model has no such layer.

    Source: google-research/bert `extract_features.py`; the spelling of "linex_index" is Google's.
    """
    source = open_source(source, tokenizer, (), max_sequence_length)
    if any(layer >= 0 for layer in layers):
        raise ValueError(f"Layers must count from the last, -1. Received: layers={tuple(layers)}.")
    return _extract(choose_layers(source, tuple(layers)), enumerate(lines), layers)


def _extract(source, numbered_lines, layers):
    while chunk := list(itertools.islice(numbered_lines, BATCHES_AHEAD * BATCH_SIZE)):
        rows = [
            source.tokenizer.pack(*split_pair(line.strip()), max_sequence_length=source.max_sequence_length)
            for _, line in chunk
        ]
        for (number, _), row, states in zip(chunk, rows, predict_hidden_states(source, rows), strict=True):
            yield {
                "linex_index": number,
                "features": [
                    {
                        "token": source.tokenizer.id_to_token(token_id),
                        "layers": [
                            {"index": layer, "values": [round(value, 6) for value in state[position].tolist()]}
                            for layer, state in zip(layers, states, strict=True)
                        ],
                    }
                    for position, token_id in enumerate(row.token_ids)
                ],
            }


def split_pair(line):
    """Return (first, second) of "first ||| second", or (line,)."""
    found = re.fullmatch(r"(.*) \|\|\| (.*)", line)
    return found.groups() if found else (line,)

"""The `kbert` commands that ask a model."""

import contextlib
import dataclasses
import json
import pathlib
import sys

from kbert.quiet_start import load_keras

MODEL_HELP = "preset or folder (default: kbert-small-ko for a text in Hangul, kbert-small-en for any other)"


def add_questions(commands, add):
    """Add the commands to the parser; `add` is `kbert.cli`'s."""
    command = add(commands, "fill-mask", _fill_mask, "fill each [MASK] in a text")
    command.add_argument("text", help='a text with [MASK], e.g. "The cat sits on the [MASK]."')
    command.add_argument("--top-k", type=int, help="answers a mask (default: 5, or all targets)")
    command.add_argument("--targets", nargs="+", metavar="WORD", help="rank these words only")
    command.add_argument("--joint", action="store_true", help="fill all masks together, not each on its own")
    command.add_argument("--beam-size", type=int, default=16, help="for --joint (default: 16)")
    _add_model(command)

    command = add(commands, "pair", _pair, "tell whether the second text follows the first")
    command.add_argument("first", help="the first text")
    command.add_argument("second", help="the text that may follow it")
    _add_model(command)

    command = add(commands, "score", _score, "tell how natural texts are, and which of their words surprise")
    command.add_argument("text", nargs="+", help="a text; with several, the most natural is the least perplexed")
    _add_model(command)

    command = add(commands, "embed", _embed, "turn texts into vectors, a JSON line each")
    command.add_argument("text", nargs="+", help='a text, or a pair "first ||| second"')
    command.add_argument("--layers", default="last", help="embeddings, last, second_to_last, sum_last_four, ...")
    command.add_argument("--pooling", default="mean", help="mean, or cls (default: mean)")
    command.add_argument("--truncate", action="store_true", help="cut a text that is longer than the model")
    command.add_argument("--model", help=MODEL_HELP)

    command = add(commands, "features", _features, "write the vectors of each token of each line, as JSON lines")
    command.add_argument("input", help='a file with a text or a pair "first ||| second" a line; - for standard input')
    command.add_argument("--output", default="-", help="the .jsonl to write (default: standard output)")
    command.add_argument("--layers", nargs="+", type=int, default=[-1, -2, -3, -4], help="(default: -1 -2 -3 -4)")
    command.add_argument("--max-sequence-length", type=int, help="cut lines to this (default: what the model reads)")
    command.add_argument("--model", default="kbert-small-en", help="preset or folder (default: kbert-small-en)")


def _add_model(command):
    command.add_argument("--model", help=MODEL_HELP)
    command.add_argument("--json", action="store_true", help="print JSON")


def _model(arguments, *texts):
    from kbert.inference.languages import preset_for

    return arguments.model or preset_for(*texts)


def print_json(answers):
    """Print answers, dataclasses or lists of such, as JSON."""
    print(json.dumps(answers, default=dataclasses.asdict, ensure_ascii=False, indent=2))


def _fill_mask(arguments):
    load_keras()
    from kbert.inference import FillMask

    fill_mask = FillMask(_model(arguments, arguments.text))
    if arguments.joint:
        top_k = min(5, arguments.beam_size) if arguments.top_k is None else arguments.top_k
        fillings = fill_mask.jointly(arguments.text, top_k, arguments.targets, arguments.beam_size)
        if arguments.json:
            return print_json(fillings)
        for filling in fillings:
            print(f"{filling.log_probability:8.3f}  {' '.join(filling.words):<24}  {filling.text}")
        return None
    masks = fill_mask(arguments.text, arguments.top_k, arguments.targets)
    if arguments.json:
        return print_json(masks)
    for number, mask in enumerate(masks, start=1):
        if len(masks) > 1:
            print(f"mask {number}")
        for candidate in mask.candidates:
            print(f"{candidate.probability:6.1%}  {candidate.word:<14}  {candidate.text}")
    return None


def _pair(arguments):
    load_keras()
    from kbert.inference import SentencePair

    verdict = SentencePair(_model(arguments, arguments.first, arguments.second))(arguments.first, arguments.second)
    if arguments.json:
        print(json.dumps(dataclasses.asdict(verdict)))
        return
    print(f"{verdict.follows:6.1%}  follows\n{verdict.random:6.1%}  random")


def _score(arguments):
    load_keras()
    from kbert.inference import ScoreText

    scores = ScoreText(_model(arguments, *arguments.text))(arguments.text)
    if arguments.json:
        return print_json(scores)
    for text, score in zip(arguments.text, scores, strict=True):
        print(f"{text}\n  log-likelihood {score.log_likelihood:.3f}, perplexity {score.perplexity:.3f}")
        for token in score.tokens:
            print(f"  {token.surprise:7.3f}  {token.token}")
    return None


def _embed(arguments):
    load_keras()
    from kbert.inference import EmbedText
    from kbert.inference.features import split_pair

    embed = EmbedText(_model(arguments, *arguments.text), layers=arguments.layers, pooling=arguments.pooling)
    texts = [pair if len(pair := split_pair(text)) == 2 else text for text in arguments.text]
    for text, vector in zip(arguments.text, embed(texts, truncate=arguments.truncate), strict=True):
        print(json.dumps({"text": text, "vector": vector.tolist()}, ensure_ascii=False))


def _features(arguments):
    load_keras()
    from kbert.inference import extract_features

    with contextlib.ExitStack() as files:
        lines = files.enter_context(_open(arguments.input, "r"))
        rows = extract_features(
            arguments.model, lines, arguments.layers, max_sequence_length=arguments.max_sequence_length
        )
        output = files.enter_context(_open(arguments.output, "w"))  # Only now: a refused question leaves no file.
        for row in rows:
            output.write(json.dumps(row, ensure_ascii=False) + "\n")


def _open(path, mode):
    if path == "-":
        return contextlib.nullcontext(sys.stdin if mode == "r" else sys.stdout)
    return pathlib.Path(path).open(mode, encoding="utf-8")

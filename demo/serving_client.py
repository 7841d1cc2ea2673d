"""Ask a served model from the command line, over REST or gRPC: an example to copy from.

python -m demo.serving_client http://127.0.0.1:8501/v1/models/kbert fill_mask "The cat sits on the [MASK]."
python -m demo.serving_client grpc://127.0.0.1:8500/kbert sentence_pair "He studied law." "He became a judge."
"""

import argparse
import sys

from kbert.serving.client import open_client


def main(argv=None):
    """Put one question and print the answer."""
    parser = argparse.ArgumentParser(
        prog="python -m demo.serving_client", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="http://HOST:8501/v1/models/NAME, or grpc://HOST:8500/NAME")
    parser.add_argument("signature", choices=sorted(_PRINTERS), help="the question")
    parser.add_argument("text", nargs="+", help="one text, or the two of a pair; for answer a question and a context")
    arguments = parser.parse_args(argv)
    names = ("question", "context") if arguments.signature == "answer" else ("text", "text_pair")
    inputs = dict(zip(names, ([text] for text in arguments.text), strict=False))
    try:
        answer = open_client(arguments.url).predict(arguments.signature, **inputs)
    except (ValueError, OSError, ImportError) as error:
        print(f"No answer. {error}", file=sys.stderr)
        return 2
    for line in _PRINTERS[arguments.signature](arguments.text[0], {name: value[0] for name, value in answer.items()}):
        print(line)
    return 0


def _fill_mask(text, answer):
    for number in range(min(answer["num_masks"], len(answer["words"]))):  # What comes after is filler.
        start, end = answer["starts"][number], answer["ends"][number]
        yield f"{text[:start]}>{text[start:end]}<{text[end:]}"
        for word, probability in zip(answer["words"][number], answer["probabilities"][number], strict=True):
            yield f"{probability:6.1%}  {word}"


def _sentence_pair(_, answer):
    yield from (f"{answer[name]:6.1%}  {name}" for name in ("follows", "random"))


def _classify(_, answer):
    for label, value in zip(answer["labels"], answer.get("probabilities", answer.get("values")), strict=True):
        yield f"{value:6.1%}  {label}" if "probabilities" in answer else f"{value:8.4f}  {label}"


def _tag(text, answer):
    for number in range(answer["num_tokens"]):
        part = text[answer["starts"][number] : answer["ends"][number]]
        yield f"{answer['probabilities'][number]:6.1%}  {answer['labels'][number]}  {part}"


def _answer(_, answer):
    yield answer["text"]
    yield f"characters {answer['start']} to {answer['end']}"
    yield f"score {answer['score']:.3f}, of no answer {answer['no_answer_score']:.3f}"


def _embed(_, answer):
    yield " ".join(f"{value:.4f}" for value in answer["mean"])


_PRINTERS = {
    "fill_mask": _fill_mask,
    "sentence_pair": _sentence_pair,
    "classify": _classify,
    "classify_pair": _classify,
    "tag": _tag,
    "answer": _answer,
    "embed": _embed,
    "embed_pair": _embed,
}


if __name__ == "__main__":
    sys.exit(main())

"""The `kbert` commands that ask a fine-tuned model."""

import sys

from kbert.cli_questions import print_json
from kbert.quiet_start import load_keras


def add_fine_tuned(commands, add):
    """Add the commands to the parser; `add` is `kbert.cli`'s."""
    command = add(commands, "classify", _classify, "tell the class, labels or number of texts")
    command.add_argument("text", nargs="+", help='a text, or a pair "first ||| second"')
    command.add_argument("--top-k", type=int, help="labels to print (default: all)")
    command.add_argument("--truncate", action="store_true", help="cut a text that is longer than the model")
    _add_model(command)

    command = add(commands, "answer", _answer, "find the answer to a question in a text")
    command.add_argument("question", help="the question")
    command.add_argument("context", help="the text; - for standard input")
    command.add_argument("--top-k", type=int, default=1, help="answers (default: 1)")
    command.add_argument("--may-be-absent", action="store_true", help="the text may hold no answer (SQuAD 2.0)")
    command.add_argument("--null-threshold", type=float, default=0.0, help="for --may-be-absent (default: 0)")
    _add_model(command)

    command = add(commands, "tag", _tag, "find names and other tagged spans in texts")
    command.add_argument("text", nargs="+", help="a text")
    command.add_argument("--strategy", help="first, average, max or pieces (default: as the model was trained)")
    _add_model(command)

    command = add(commands, "choose", _choose, "choose the ending that goes with a beginning")
    command.add_argument("context", help="the beginning")
    command.add_argument("endings", nargs="+", help="two or more endings")
    _add_model(command)


def _add_model(command):
    command.add_argument("--model", required=True, help="folder that training/finetune.py wrote")
    command.add_argument("--json", action="store_true", help="print JSON")


def _classify(arguments):
    load_keras()
    from kbert.inference import Classify
    from kbert.inference.features import split_pair

    texts = [pair if len(pair := split_pair(text)) == 2 else text for text in arguments.text]
    answers = Classify(arguments.model)(texts, arguments.top_k, arguments.truncate)
    if arguments.json:
        return print_json(answers)
    for text, labels in zip(arguments.text, answers, strict=True):
        if len(texts) > 1:
            print(text)
        for label in labels:
            print(
                f"{label.probability:6.1%}  {label.name}"
                if label.value is None
                else f"{label.value:8.3f}  {label.name}"
            )
    return None


def _answer(arguments):
    load_keras()
    from kbert.inference import Answer

    context = sys.stdin.read() if arguments.context == "-" else arguments.context
    answers = Answer(arguments.model)(
        arguments.question,
        context,
        arguments.top_k,
        may_be_absent=arguments.may_be_absent,
        null_threshold=arguments.null_threshold,
    )
    if arguments.json:
        return print_json(answers)
    for answer in answers:
        print(f"{answer.probability:6.1%}  {answer.text or '(no answer)'}")
    return None


def _tag(arguments):
    load_keras()
    from kbert.inference import Tag

    answers = Tag(arguments.model)(arguments.text, arguments.strategy)
    if arguments.json:
        return print_json(answers)
    for text, spans in zip(arguments.text, answers, strict=True):
        if len(answers) > 1:
            print(text)
        for span in spans:
            print(f"{span.probability:6.1%}  {span.label:<8}  {span.start}-{span.end}  {span.text}")
    return None


def _choose(arguments):
    load_keras()
    from kbert.inference import Choose

    endings = Choose(arguments.model)(arguments.context, arguments.endings)
    if arguments.json:
        return print_json(endings)
    for ending in endings:
        print(f"{ending.probability:6.1%}  {ending.text}")
    return None

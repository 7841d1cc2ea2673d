"""The `kbert` command."""

import argparse
import dataclasses
import pathlib
import sys

from kbert.cli_fine_tuned import add_fine_tuned
from kbert.cli_questions import add_questions
from kbert.cli_serving import add_serving
from kbert.quiet_start import load_keras


def main(argv=None):
    """Run one command and return its exit status: 0, or 2 with a sentence on stderr that says what to change."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments) or 0
    except (ValueError, OSError, ImportError) as error:
        print(f"kbert: {error}", file=sys.stderr)
        return 2


def _parser():
    parser = argparse.ArgumentParser(prog="kbert", description="BERT for Keras 3: ask, show, and make vocabularies.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    add_questions(commands, _add)
    add_fine_tuned(commands, _add)
    add_serving(commands, _add)

    command = _add(commands, "vocab", _vocab, "learn a WordPiece vocabulary from a corpus")
    _add_corpus(command)
    command.add_argument("--output", required=True, help="the vocab.txt to write")
    command.add_argument("--size", type=int, default=16000, help="tokens at most (default: 16000)")
    command.add_argument("--cased", action="store_true", help="keep upper case and accents")
    command.add_argument("--keep-accents", action="store_true", help="lower-case, but keep accents; --language ko does")
    command.add_argument("--limit-alphabet", type=int, default=3000, help="characters kept at most (default: 3000)")
    command.add_argument("--min-frequency", type=int, default=2, help="a rarer piece is left out (default: 2)")
    command.add_argument("--reserved", type=int, default=0, help="[unused] slots for words of one's own (default: 0)")

    command = _add(commands, "extend", _extend, "add the words of a corpus to a model's vocabulary")
    command.add_argument("model", help="preset or folder")
    _add_corpus(command)
    command.add_argument("--output", required=True, help="the folder to write")
    command.add_argument("--max-words", type=int, default=1000, help="words added at most (default: 1000)")
    command.add_argument("--min-frequency", type=int, default=2, help="a rarer word is left out (default: 2)")

    command = _add(commands, "corpus", _corpus, "report what is in a corpus")
    _add_corpus(command)
    command.add_argument("--vocabulary", help="a vocab.txt or checkpoint folder, to count tokens too")

    command = _add(commands, "convert", _convert, "read a checkpoint of any kind and write it as a folder")
    command.add_argument("source", help="preset, folder of Hugging Face's, Google's or KerasHub's, hf:// or kaggle://")
    command.add_argument("destination", help="folder to write")
    command.add_argument("--to", choices=("hugging-face", "keras-hub"), default="hugging-face", help="layout to write")
    command.add_argument(
        "--dtype", choices=("float32", "float16", "bfloat16"), default="float32", help="of the weights written"
    )
    command.add_argument("--activation", help="gelu_erf, gelu_tanh or relu, if not what the source says")

    command = _add(commands, "demo", _demo, "show a model in the browser")
    command.add_argument("--model", help="preset or folder (default: the English and the Korean preset)")
    command.add_argument("--serving", metavar="URL", help="ask a served model, such as http://HOST:8501/v1/models/NAME")
    command.add_argument("--task", nargs="+", action="extend", metavar="FOLDER", help="fine-tuned checkpoint folders")
    command.add_argument("--run", dest="watched_run", metavar="FOLDER", help="a run of training/pretrain.py to watch")
    command.add_argument("--host", default="127.0.0.1", help="address to serve on (default: 127.0.0.1)")
    command.add_argument("--port", type=int, default=7860, help="port to serve on (default: 7860)")
    command.add_argument("--lang", choices=("en", "ko"), help="of the page (default: what the browser asks for)")
    return parser


def _add(commands, name, run, text):
    command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.set_defaults(run=run)
    return command


def _add_corpus(command):
    command.add_argument("corpus", nargs="+", help="text, JSON lines, WikiExtractor files, dumps, folders, patterns")
    command.add_argument(
        "--language",
        choices=("en", "ko"),
        default="en",
        help="of the text; in ko whole syllables and particles are pieces of their own (default: en)",
    )
    command.add_argument("--text-key", default="text", help="field of a JSON line with the text (default: text)")
    command.add_argument("--encoding", default="utf-8", help="of the files, e.g. cp949 (default: utf-8)")


def _read(arguments):
    from kbert.text.corpora import find_corpus_files, read_documents
    from kbert.text.duplicates import UniqueDocuments

    files = find_corpus_files(arguments.corpus)
    return UniqueDocuments(read_documents(files, arguments.text_key, arguments.encoding))


def _vocab(arguments):
    from kbert.text.particles import SPARE, set_particles_apart
    from kbert.text.vocabulary import learn_vocabulary, write_vocabulary

    class Texts:
        def __iter__(self):
            return (document.text for document in _read(arguments))

    is_korean = arguments.language == "ko"
    tokens = learn_vocabulary(
        Texts(),
        arguments.size * SPARE if is_korean else arguments.size,
        lowercase=not arguments.cased,
        strip_accents=False if arguments.keep_accents or is_korean else None,
        min_frequency=arguments.min_frequency,
        limit_alphabet=arguments.limit_alphabet,
        reserved=arguments.reserved,
    )
    if is_korean:
        tokens = set_particles_apart(tokens, arguments.size)
    write_vocabulary(tokens, arguments.output)
    print(f"{arguments.output}: {len(tokens):,} tokens")


def _extend(arguments):
    from kbert.convert import load, save_checkpoint
    from kbert.models.resize import resize_vocabulary
    from kbert.text.extend import extend_tokenizer, find_domain_words

    checkpoint = load(arguments.model)
    if checkpoint.missing_parts:
        raise ValueError(
            f"A model to extend must be whole. Received: {arguments.model} without {checkpoint.missing_parts}."
        )
    tokenizer = checkpoint.tokenizer
    texts = (document.text for document in _read(arguments))
    root_of = {}
    if arguments.language == "ko":
        from kbert.text.particles import without_particle

        root_of = {"root_of": without_particle}
    words = find_domain_words(texts, tokenizer, arguments.max_words, arguments.min_frequency, **root_of)
    longer = extend_tokenizer(tokenizer, words)
    save_checkpoint(resize_vocabulary(checkpoint.model, tokenizer, longer), longer, arguments.output)
    print(f"{arguments.output}: {len(words):,} words added, {longer.vocabulary_size:,} tokens")


def _corpus(arguments):
    from kbert.text.corpus_report import report_corpus
    from kbert.text.sentences import split_sentences
    from kbert.text.tokenizer import WordPieceTokenizer

    tokenizer = None
    if arguments.vocabulary:
        is_folder = pathlib.Path(arguments.vocabulary).is_dir()
        open_one = WordPieceTokenizer.from_folder if is_folder else WordPieceTokenizer.from_vocabulary_file
        tokenizer = open_one(arguments.vocabulary, special_tokens_in_text=False)
    documents = _read(arguments)
    sentences = (split_sentences(document.text, arguments.language) for document in documents)
    report = report_corpus(sentences, tokenizer)
    print(dataclasses.replace(report, num_duplicates=documents.num_dropped))


def _convert(arguments):
    load_keras()
    from kbert.convert import load, save_checkpoint, save_keras_hub

    changes = {} if arguments.activation is None else {"activation": arguments.activation}
    checkpoint = load(arguments.source, **changes)
    model, tokenizer, missing_parts = checkpoint.model, checkpoint.tokenizer, checkpoint.missing_parts
    if arguments.to == "keras-hub":
        save_keras_hub(model, tokenizer, arguments.destination, missing_parts)
        print(f"{arguments.destination}: the encoder, as a KerasHub preset")
        return
    save_checkpoint(model, tokenizer, arguments.destination, arguments.dtype, missing_parts)
    without = f", without {', '.join(missing_parts)}" if missing_parts else ""
    print(f"{arguments.destination}: {type(model).__name__}, {arguments.dtype}{without}")


def _demo(arguments):
    load_keras()
    try:
        from demo.app import main as serve
    except ModuleNotFoundError as error:
        raise ImportError(f"The page needs {error.name}. Install it with `pip install 'keras-kbert[demo]'`.") from error
    given = {name: getattr(arguments, name) for name in ("model", "serving", "lang", "host", "port")}
    given["run"] = arguments.watched_run
    tasks = ["--task", *arguments.task] if arguments.task else []
    serve([*(f"--{name}={value}" for name, value in given.items() if value is not None), *tasks])


if __name__ == "__main__":
    sys.exit(main())

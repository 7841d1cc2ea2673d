"""Turn a corpus and a vocabulary into shards that training/pretrain.py reads.

    python -m training.prepare corpus.txt --vocabulary runs/vocab.txt --output runs/shards

Reads plain text, JSON lines, WikiExtractor output and MediaWiki dumps, also compressed, as a stream. A text that comes
a second time is dropped. Documents go in blocks of about --block_characters to all cores; a block becomes one shard of
packed, unmasked sentence pairs, with --nsp none of running text, with --pair_anew of documents. Each block draws from
(seed, block) alone, so any number of --workers writes the same bytes. Documents are held out by a hash of their text.
The output folder also gets the tokenizer, dataset.json and report.txt. Killed, the same command reads the corpus again
but keeps finished shards.
"""

import training.quiet_start  # noqa: F401

# isort: split
import collections
import concurrent.futures
import dataclasses
import multiprocessing
import os
import pathlib
import signal
import threading

import numpy as np
from tqdm import tqdm

from kbert.convert.tokenizer_fit import check_case
from kbert.data.blocks import blocks_of
from kbert.data.document_shards import write_documents
from kbert.data.full_sentences import make_full_sentences
from kbert.data.schema import DATASET_FILE, NO_PAIR, DatasetInfo, PairingInfo, PretrainingRow, ShardInfo, write_shard
from kbert.data.sentence_pairs import make_sentence_pairs, pack
from kbert.text.corpora import find_corpus_files, is_held_out, read_documents
from kbert.text.corpus_report import CorpusReport, report_corpus
from kbert.text.duplicates import UniqueDocuments
from kbert.text.sentences import LANGUAGES, split_sentences
from kbert.text.tokenizer import WordPieceTokenizer
from training.arguments import one_line_errors, parse, setting
from training.finished_blocks import FinishedBlocks

SPLITS = ("train", "held_out")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    corpus: tuple = setting(text="files, folders or glob patterns")
    vocabulary: str = setting(None, "vocab.txt, or a checkpoint folder with one")
    output: str = setting("runs/shards", "folder of the shards; must not hold a dataset yet")
    cased: bool = setting(False, "keep upper case and accents (with a vocab.txt; a folder says it itself)")
    keep_accents: bool = setting(
        False, "lower-case, but keep accents, as is done for a vocabulary of whole Hangul syllables"
    )
    language: str = setting("en", "of the sentence splitter", choices=LANGUAGES)
    text_key: str = setting("text", "field of a JSON line that holds the text")
    encoding: str = setting("utf-8", "of the corpus files, e.g. cp949 for EUC-KR")
    nsp: str = setting("pairs", "none: rows of running text, for masked words alone", choices=("pairs", "none"))
    pair_anew: bool = setting(False, "store documents; every epoch of the training pairs their sentences anew")
    max_sequence_length: int = setting(128, "tokens a row, special tokens included")
    short_sequence_rate: float = setting(0.1, "share of documents cut into shorter rows")
    held_out_rate: float = setting(0.02, "share of documents that are never trained on")
    block_characters: int = setting(4_000_000, "characters a shard is made of; the memory of a worker follows it")
    seed: int = setting(0, "of pairs and order")
    workers: int = setting(os.cpu_count(), "processes")


def main(argv=None):
    """Write the shards and return the `DatasetInfo`."""
    settings = parse(Settings, argv, __doc__)
    with one_line_errors():
        return prepare(settings, _make_shards)


def prepare(settings, make_shards):
    """Make a dataset of a corpus.

    Args:
        settings: `Settings`.
        make_shards: function from (settings, files) to a dict of each split's `ShardInfo`s, and the `CorpusReport`.
    Returns:
        `DatasetInfo`.
    """
    output = pathlib.Path(settings.output)
    if (output / DATASET_FILE).exists():
        raise ValueError(
            f"--output must not hold a dataset yet. Received: {output}. Choose another folder, or delete it."
        )
    files = find_corpus_files(settings.corpus)
    tokenizer = _open_tokenizer(settings)
    if settings.pair_anew and settings.nsp == "none":
        raise ValueError("--pair_anew must come with pairs. Received: --nsp none --pair_anew.")
    progress = FinishedBlocks(output)
    if num_finished := progress.begin(settings, files):
        print(f"{output}: {num_finished} blocks were finished before")
    tokenizer.save(output)
    shards, report = make_shards(settings, files)
    print(report)
    (output / "report.txt").write_text(f"{report}\n", encoding="utf-8")
    if not shards["train"]:
        progress.end()
        raise ValueError(
            "A corpus must have at least two documents to train on. "
            f"Received: {report.num_documents:,} in all, {settings.held_out_rate:.0%} of them to be held out. "
            "Put a blank line between documents, or give more files."
        )
    info = DatasetInfo(
        vocabulary_size=tokenizer.vocabulary_size,
        max_sequence_length=settings.max_sequence_length,
        seed=settings.seed,
        shards=tuple(shards["train"]),
        held_out=tuple(shards["held_out"]),
        special_token_ids=tokenizer.special_token_ids,
    )
    info.write(output)
    progress.end()
    for split in SPLITS:
        rows, tokens = (sum(getattr(shard, name) for shard in shards[split]) for name in ("rows", "tokens"))
        print(f"{split:<10}{len(shards[split]):>6} shards {rows:>12,} rows {tokens:>16,} tokens")
    if not shards["held_out"]:
        print("warning: no rows are held out. Raise --held_out_rate, or a run cannot be checked on unseen text.")
    return info


def _open_tokenizer(settings):
    if settings.vocabulary is None:
        raise ValueError("--vocabulary must be given: a vocab.txt (kbert vocab learns one) or a checkpoint folder.")
    if pathlib.Path(settings.vocabulary).is_dir():
        tokenizer = WordPieceTokenizer.from_folder(settings.vocabulary, special_tokens_in_text=False)
        check_case(tokenizer, settings.vocabulary, "Change do_lower_case in its tokenizer_config.json.")
        return tokenizer
    tokenizer = WordPieceTokenizer.from_vocabulary_file(
        settings.vocabulary, not settings.cased, settings.keep_accents, special_tokens_in_text=False
    )
    check_case(tokenizer, settings.vocabulary, "--cased is for a vocabulary with capitals, and for no other.")
    return tokenizer


def _make_shards(settings, files):
    documents = UniqueDocuments(read_documents(files, settings.text_key, settings.encoding))
    shards, reports = {split: [] for split in SPLITS}, []
    # `disable=None`: no bar where the output is not a terminal.
    with tqdm(desc="preparing", unit=" documents", disable=None) as bar:
        for split, shard, report in _finished(_blocks(documents, settings), settings):
            shards[split] += [shard] if shard else []
            reports.append(report)
            bar.update(report.num_documents)
            bar.set_postfix(shards=len(reports), tokens=f"{sum(report.num_tokens for report in reports):,}")
    return shards, dataclasses.replace(CorpusReport.merge(reports), num_duplicates=documents.num_dropped)


def _blocks(documents, settings):
    """Yield (split, number, texts)."""
    texts = ((split_of(document, settings), len(document.text), document.text) for document in documents)
    return blocks_of(texts, settings.block_characters)


def split_of(document, settings):
    """Return the split a `Document` belongs to, one of `SPLITS`."""
    return SPLITS[is_held_out(document, settings.held_out_rate)]


def _finished(blocks, settings):
    """Yield the results of all blocks in their order. One worker is this process: no other has to start."""
    if settings.workers == 1:
        open_worker(settings)
        yield from (make_shard(*block) for block in blocks)
        return
    pool = concurrent.futures.ProcessPoolExecutor(
        settings.workers,
        mp_context=multiprocessing.get_context("spawn"),  # A fork of a process with TensorFlow's threads may hang.
        initializer=_start_worker,
        initargs=(settings,),
    )
    with pool:
        yield from _in_order(pool, blocks, at_once=2 * settings.workers)


def _in_order(pool, blocks, at_once):
    """Yield the results of all blocks in their order, with few blocks in memory at a time."""
    pending = collections.deque()
    try:
        for block in blocks:
            pending.append(pool.submit(make_shard, *block))
            if len(pending) >= at_once:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()  # After an error, whose message would wait for them.


def _start_worker(settings):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the parent ends the others.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    open_worker(settings)


def open_worker(settings):
    """Make this process ready for `make_shard`."""
    global _settings, _tokenizer
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # The processes already take all cores.
    _settings, _tokenizer = settings, _open_tokenizer(settings)


def _end_with_parent():
    """End a worker whose parent was killed: it would wait for work, and keep its memory, for ever."""
    multiprocessing.parent_process().join()
    os._exit(1)


def make_shard(split, number, texts):
    """Write the shard of one block; its info is None, and there is no file, if the block gives no rows."""
    progress = FinishedBlocks(_settings.output)
    if finished := progress.find(split, number):
        return split, *finished
    sentences = [split_sentences(text, _settings.language) for text in texts]
    documents = [_tokenizer.encode_batch(document) for document in sentences]
    num_tokens = sum(len(token_ids) for document in documents for token_ids in document)
    report = dataclasses.replace(report_corpus(sentences), num_tokens=num_tokens)
    rng = np.random.default_rng([_settings.seed, SPLITS.index(split), number])
    rows = list((_pair_rows if _settings.nsp == "pairs" else _text_rows)(documents, rng))
    shard = None
    if rows:
        shard = ShardInfo(f"{split}-{number:05d}.tfrecord", len(rows), sum(len(row.token_ids) for row in rows))
        path = pathlib.Path(_settings.output) / shard.file
        if _settings.pair_anew and split == "train":
            shard = dataclasses.replace(
                shard, pairing=PairingInfo(_settings.max_sequence_length, _settings.short_sequence_rate)
            )
            write_documents(path, documents)
        else:
            write_shard(path, (rows[index] for index in rng.permutation(len(rows))))
    progress.save(split, number, shard, report)
    return split, shard, report


def _pair_rows(documents, rng):
    if sum(map(any, documents)) < 2:  # A random next sentence comes from another document.
        return
    special = _tokenizer.special_token_ids
    for pair in make_sentence_pairs(
        documents,
        max_sequence_length=_settings.max_sequence_length,
        rng=rng,
        short_sequence_rate=_settings.short_sequence_rate,
    ):
        yield PretrainingRow(*pack(pair, special["[CLS]"], special["[SEP]"]), pair.is_random_next)


def _text_rows(documents, _):
    special = _tokenizer.special_token_ids
    for token_ids in make_full_sentences(
        documents,
        max_sequence_length=_settings.max_sequence_length,
        cls_token_id=special["[CLS]"],
        sep_token_id=special["[SEP]"],
    ):
        yield PretrainingRow(token_ids, [0] * len(token_ids), NO_PAIR)


if __name__ == "__main__":
    main()

"""Turn a corpus and a vocabulary into shards that training/pretrain.py reads.

    python -m training.prepare corpus.txt --vocabulary runs/vocab.txt --output runs/shards

Reads plain text, JSON lines and WikiExtractor output, also compressed, as a stream. Documents go in blocks of about
--block_characters to all cores; a block becomes one shard of packed, unmasked sentence pairs. Each block draws from
(seed, block) alone, so any number of --workers writes the same bytes. Documents are held out by a hash of their text.
The output folder also gets the tokenizer, dataset.json and report.txt.
"""

import collections
import concurrent.futures
import dataclasses
import multiprocessing
import os
import pathlib

import numpy as np
from tqdm import tqdm

from kbert.data.schema import DATASET_FILE, DatasetInfo, PretrainingRow, ShardInfo, write_shard
from kbert.data.sentence_pairs import make_sentence_pairs, pack
from kbert.text.corpora import find_corpus_files, is_held_out, read_documents
from kbert.text.corpus_report import CorpusReport, report_corpus
from kbert.text.sentences import split_sentences
from kbert.text.tokenizer import WordPieceTokenizer
from training.arguments import parse, setting

SPLITS = ("train", "held_out")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of this script."""

    corpus: tuple = setting(text="files, folders or glob patterns")
    vocabulary: str = setting(None, "vocab.txt, or a checkpoint folder with one")
    output: str = setting("runs/shards", "folder of the shards; must not hold a dataset yet")
    cased: bool = setting(False, "keep upper case and accents (with a vocab.txt; a folder says it itself)")
    keep_accents: bool = setting(False, "lower-case, but keep accents: for Korean, whose syllables would come apart")
    language: str = setting("en", "of the sentence splitter", choices=("en", "ko"))
    text_key: str = setting("text", "field of a JSON line that holds the text")
    max_sequence_length: int = setting(128, "tokens a row, special tokens included")
    short_sequence_rate: float = setting(0.1, "share of documents cut into shorter rows")
    held_out_rate: float = setting(0.02, "share of documents that are never trained on")
    block_characters: int = setting(4_000_000, "characters a shard is made of; the memory of a worker follows it")
    seed: int = setting(0, "of pairs and order")
    workers: int = setting(os.cpu_count(), "processes")


def main(argv=None):
    """Write the shards and return the `DatasetInfo`."""
    settings = parse(Settings, argv, __doc__)
    output = pathlib.Path(settings.output)
    if (output / DATASET_FILE).exists():
        raise SystemExit(f"--output must not hold a dataset yet. Received: {output}. Delete it or choose another folder.")
    files = find_corpus_files(settings.corpus)
    tokenizer = _open_tokenizer(settings)
    tokenizer.save(output)
    shards, reports = {split: [] for split in SPLITS}, []
    with concurrent.futures.ProcessPoolExecutor(
        settings.workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(settings,),
    ) as pool:
        documents = tqdm(read_documents(files, settings.text_key), desc="documents", unit="", mininterval=1)
        for split, shard, report in _in_order(pool, _blocks(documents, settings), at_once=2 * settings.workers):
            shards[split].append(shard)
            reports.append(report)
            documents.set_postfix(shards=len(reports), tokens=f"{sum(s.tokens for s in shards['train']):,}")
    report = CorpusReport.merge(reports)
    print(report)
    (output / "report.txt").write_text(f"{report}\n", encoding="utf-8")
    if not shards["train"]:
        raise SystemExit("A corpus must have at least two documents, with a blank line between them. See the report.")
    info = DatasetInfo(
        vocabulary_size=tokenizer.vocabulary_size,
        max_sequence_length=settings.max_sequence_length,
        seed=settings.seed,
        shards=tuple(shards["train"]),
        held_out=tuple(shards["held_out"]),
        special_token_ids=tokenizer.special_token_ids,
    )
    info.write(output)
    for split in SPLITS:
        rows, tokens = (sum(getattr(shard, name) for shard in shards[split]) for name in ("rows", "tokens"))
        print(f"{split}: {len(shards[split])} shards, {rows:,} rows, {tokens:,} tokens")
    if not shards["held_out"]:
        print("No documents are held out: raise --held_out_rate if the run is to be checked on unseen text.")
    return info


def _open_tokenizer(settings):
    if settings.vocabulary is None:
        raise SystemExit("--vocabulary must be given: a vocab.txt (kbert vocab learns one) or a checkpoint folder.")
    if pathlib.Path(settings.vocabulary).is_dir():
        return WordPieceTokenizer.from_folder(settings.vocabulary, special_tokens_in_text=False)
    strip_accents = False if settings.keep_accents else None
    return WordPieceTokenizer(
        settings.vocabulary, not settings.cased, strip_accents=strip_accents, special_tokens_in_text=False
    )


def _blocks(documents, settings):
    """Yield (split, number, texts). A block has two documents at least, unless its split has only one in all."""
    gathering = {split: [] for split in SPLITS}
    waiting = dict.fromkeys(SPLITS)  # The last full block of a split, held back in case one document is left over.
    numbers = dict.fromkeys(SPLITS, 0)
    sizes = dict.fromkeys(SPLITS, 0)
    for document in documents:
        split = SPLITS[is_held_out(document, settings.held_out_rate)]
        gathering[split].append(document.text)
        sizes[split] += len(document.text)
        if sizes[split] >= settings.block_characters and len(gathering[split]) > 1:
            if waiting[split]:
                yield split, numbers[split], waiting[split]
                numbers[split] += 1
            waiting[split], gathering[split], sizes[split] = gathering[split], [], 0
    for split in SPLITS:
        last, rest = waiting[split] or [], gathering[split]
        for texts in ([last, rest] if len(rest) > 1 else [last + rest]):
            if texts:
                yield split, numbers[split], texts
                numbers[split] += 1


def _in_order(pool, blocks, at_once):
    """Yield the results of all blocks in their order, with few blocks in memory at a time."""
    pending = collections.deque()
    for block in blocks:
        pending.append(pool.submit(_make_shard, *block))
        if len(pending) >= at_once:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _start_worker(settings):
    global _settings, _tokenizer
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # The processes already take all cores.
    _settings, _tokenizer = settings, _open_tokenizer(settings)


def _make_shard(split, number, texts):
    """Turn the documents of one block into one shard."""
    sentences = [split_sentences(text, _settings.language) for text in texts]
    documents = [_tokenizer.encode_batch(document) for document in sentences]
    report = report_corpus(sentences, num_tokens=sum(len(ids) for document in documents for ids in document))
    rng = np.random.default_rng([_settings.seed, SPLITS.index(split), number])
    special = _tokenizer.special_token_ids
    rows = []
    if sum(map(any, documents)) > 1:
        pairs = make_sentence_pairs(
            documents,
            max_sequence_length=_settings.max_sequence_length,
            rng=rng,
            short_sequence_rate=_settings.short_sequence_rate,
        )
        rows = [PretrainingRow(*pack(pair, special["[CLS]"], special["[SEP]"]), pair.is_random_next) for pair in pairs]
    order = rng.permutation(len(rows))
    name = f"{split}-{number:05d}.tfrecord"
    write_shard(pathlib.Path(_settings.output) / name, (rows[index] for index in order))
    return split, ShardInfo(name, len(rows), sum(len(row.token_ids) for row in rows)), report


if __name__ == "__main__":
    main()

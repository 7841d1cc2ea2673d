"""Read, learn and write a WordPiece vocabulary."""

import collections
import pathlib

import tokenizers

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def read_vocabulary(path):
    """Read a vocabulary file: one token a line, the line number (from 0) is the id.

    Args:
        path: file, e.g. a `vocab.txt`, UTF-8.

    Returns:
        list of str.

    Raises:
        ValueError: a special token is missing, a token stands twice, or the file is not UTF-8.
    """
    path = pathlib.Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"A vocabulary file must be UTF-8. Received: {path}: {error}.") from error
    # Only line feeds end a token (`read_text` makes them of Windows' line ends): other separators may be tokens.
    tokens = text.removesuffix("\n").split("\n")
    check_vocabulary(tokens, where=str(path))
    return tokens


def check_vocabulary(tokens, where="the vocabulary"):
    """Raise ValueError unless all five special tokens are there and no token stands twice."""
    missing = [token for token in SPECIAL_TOKENS if token not in set(tokens)]
    if missing:
        raise ValueError(f"A vocabulary must hold {', '.join(SPECIAL_TOKENS)}. Received: {where} without {missing}.")
    if len(set(tokens)) < len(tokens):
        first_line = {}
        for line, token in enumerate(tokens):
            if first_line.setdefault(token, line) != line:
                raise ValueError(
                    "A vocabulary must hold each token once. "
                    f"Received: {token!r} in {where} on lines {first_line[token] + 1} and {line + 1}."
                )


def write_vocabulary(tokens, path):
    """Write one token a line. Creates the folder; checks the tokens first."""
    check_vocabulary(tokens)
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")


def learn_vocabulary(
    texts, vocabulary_size, *, lowercase=True, strip_accents=None, min_frequency=2, limit_alphabet=3000, reserved=0
):
    """Learn WordPiece tokens from text.

    Args:
        texts: iterable of str that can be gone through several times, such as a list or an object that reads its files
            anew: twice for the alphabet, once for the pieces.
        vocabulary_size: int, the most tokens the result may have, special ones included.
        lowercase: bool. True for an uncased vocabulary.
        strip_accents: bool, or None to follow `lowercase`. Set it to False for an uncased vocabulary of Korean, whose
            syllables would come apart into jamo.
        min_frequency: int. A piece seen less often is not learnt.
        limit_alphabet: int. The most characters kept, of equally frequent ones those that come first in Unicode; rarer
            ones become [UNK]. Korean needs some 2,000 syllables.
        reserved: int. Slots "[unused0]" ... kept free for words of one's own.

    Returns:
        list of str, special tokens first. The same texts give the same list.

    Raises:
        TypeError: `texts` is an iterator, which can be gone through only once.
        ValueError: `vocabulary_size` leaves no room beside special tokens and alphabet, or `texts` holds no text.

    Example:
        >>> learn_vocabulary(["low lower lowest slow slower"] * 9, 24)[-2:]
        ['##er', 'slow']

    Source: the trainer of the `tokenizers` library (`WordPieceTrainer`).
    """
    if iter(texts) is texts:
        raise TypeError("`texts` must be iterable twice, such as a list. Received: an iterator.")
    kept = [*SPECIAL_TOKENS, *(f"[unused{index}]" for index in range(reserved))]

    normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    characters = _frequent_characters(map(normalizer.normalize_str, texts), limit_alphabet)

    def train(size, first_tokens):
        # A new engine each time: one that already knows "[MASK]" would cut it out of the texts before lower-casing.
        engine = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
        engine.normalizer = normalizer
        engine.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        trainer = tokenizers.trainers.WordPieceTrainer(
            vocab_size=size,
            min_frequency=min_frequency,
            # Chosen above: of equally frequent characters the trainer keeps others from run to run.
            initial_alphabet=characters,
            limit_alphabet=len(characters),
            special_tokens=first_tokens,
            show_progress=False,
        )
        engine.train_from_iterator(texts, trainer)
        ids = engine.get_vocab()
        return sorted(ids, key=ids.get)

    # The trainer numbers the alphabet in an order that changes from run to run, and breaks ties by number. Learning
    # the alphabet first and passing it in, sorted, makes the result the same every time.
    alphabet = sorted(set(train(0, kept)) - set(kept), key=lambda token: (token.startswith("##"), token))
    if not alphabet:
        raise ValueError("`texts` must hold text to learn from. Received: no text.")
    if vocabulary_size <= len(kept) + len(alphabet):
        raise ValueError(
            "`vocabulary_size` must leave room beside the special and reserved tokens and the alphabet. Received: "
            f"vocabulary_size={vocabulary_size}, {len(kept)} + {len(alphabet)} taken. Raise it or lower limit_alphabet."
        )
    return train(vocabulary_size, kept + alphabet)


def _frequent_characters(texts, most):
    """Return the most frequent characters of texts in normal form, blanks aside, as a list of str."""
    counts = collections.Counter()
    for text in texts:
        counts.update(text)
    found = sorted((character for character in counts if not character.isspace()), key=lambda c: (-counts[c], c))
    return found[:most]

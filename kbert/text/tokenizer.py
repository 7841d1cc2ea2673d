"""Text to token ids and back, with character offsets."""

import dataclasses
import json
import pathlib

import tokenizers

from kbert.text.tokenizer_files import MAX_WORD_LENGTH, has_capitals, has_hangul_syllables, read_tokenizer_files
from kbert.text.vocabulary import SPECIAL_TOKENS, check_vocabulary, read_vocabulary, write_vocabulary


@dataclasses.dataclass(frozen=True)
class PackedText:
    """One row for the model: [CLS] first [SEP], or [CLS] first [SEP] second [SEP]. All lists have one entry a token.

    Attributes:
        token_ids: list of int.
        segment_ids: list of int. 0 up to and with the first [SEP], then 1.
        offsets: list of (start, end), characters in the text the token came from; (0, 0) for [CLS] and [SEP].
    """

    token_ids: list
    segment_ids: list
    offsets: list


class WordPieceTokenizer:
    """Split text into WordPiece tokens exactly as BERT does.

    Cleans control characters, puts blanks round Chinese characters, lower-cases and strips accents if asked, splits at
    blanks and punctuation, then takes the longest piece in the vocabulary again and again; a word that cannot be
    covered becomes [UNK]. The engine is the `tokenizers` library.

    The rule is Hugging Face's. Google's code of 2018 differs: it has `max_word_length=200` and
    `special_tokens_in_text=False`, which can be set here; it keeps private use characters, which are deleted here; it
    lower-cases a word as a whole, so that a Greek sigma at its end stays final, where it is the plain one here; and it
    knows the Unicode of its Python, where this knows that of `tokenizers`.

    Args:
        vocabulary: list of str, or the path of a vocabulary file.
        lowercase: bool. True for an uncased vocabulary.
        strip_accents: bool, or None to follow `lowercase`, as in Google's code.
        split_chinese: bool. Blanks round Chinese characters.
        special_tokens_in_text: bool. True: "[MASK]" written in a text is the token [MASK]. False: it is the text
            "[", "mask", "]", as a corpus needs.
        max_word_length: int. A longer word becomes [UNK]. 100 as in Hugging Face's; Google's code has 200.

    Raises:
        ValueError: the vocabulary lacks a special token or holds a token twice.

    Example:
        >>> tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"])
        >>> tokenizer.encode("Playing [MASK]")
        [5, 6, 4]

    Source: google-research/bert `tokenization.FullTokenizer`; transformers `BertTokenizerFast`.
    """

    def __init__(
        self,
        vocabulary,
        lowercase=True,
        strip_accents=None,
        split_chinese=True,
        special_tokens_in_text=True,
        max_word_length=MAX_WORD_LENGTH,
    ):
        if isinstance(vocabulary, (str, pathlib.Path)):
            vocabulary = read_vocabulary(vocabulary)
        check_vocabulary(vocabulary)
        self.vocabulary = list(vocabulary)
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.split_chinese = split_chinese
        self.special_tokens_in_text = special_tokens_in_text
        self.max_word_length = max_word_length
        self._ids = {token: index for index, token in enumerate(self.vocabulary)}
        self._engine = tokenizers.Tokenizer(
            tokenizers.models.WordPiece(
                self._ids, unk_token="[UNK]", max_input_chars_per_word=max_word_length, continuing_subword_prefix="##"
            )
        )
        self._engine.normalizer = tokenizers.normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=split_chinese, strip_accents=strip_accents, lowercase=lowercase
        )
        self._engine.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        self._engine.decoder = tokenizers.decoders.WordPiece(prefix="##", cleanup=True)
        if special_tokens_in_text:
            self._engine.add_special_tokens(list(SPECIAL_TOKENS))

    @property
    def vocabulary_size(self):
        """Number of tokens, V."""
        return len(self.vocabulary)

    @property
    def special_token_ids(self):
        """Dict of the five special tokens to their ids."""
        return {token: self._ids[token] for token in SPECIAL_TOKENS}

    def token_to_id(self, token):
        """Return the id of a token, or None if the vocabulary lacks it."""
        return self._ids.get(token)

    def id_to_token(self, token_id):
        """Return the token of an id in [0, V)."""
        return self.vocabulary[token_id]

    @property
    def settings(self):
        """Dict of the constructor's arguments but the vocabulary."""
        names = ("lowercase", "strip_accents", "split_chinese", "special_tokens_in_text", "max_word_length")
        return {name: getattr(self, name) for name in names}

    def split_words(self, text):
        """Return the words of a text in normal form, as list of str, before they come apart into pieces."""
        normal = self._engine.normalizer.normalize_str(text)
        return [word for word, _ in self._engine.pre_tokenizer.pre_tokenize_str(normal)]

    def encode(self, text):
        """Return the token ids of a text as a list of int, without [CLS] and [SEP]."""
        return self._engine.encode(text, add_special_tokens=False).ids

    def encode_batch(self, texts):
        """Return the token ids of each text, on all cores."""
        return [encoding.ids for encoding in self._engine.encode_batch_fast(texts, add_special_tokens=False)]

    def pack(self, first, second=None, max_sequence_length=None):
        """Build the model's row out of one text or a pair.

        Args:
            first: str.
            second: str or None.
            max_sequence_length: int or None. Above it, tokens are cut from the end of the longer text, as in Google's
                fine-tuning code.

        Returns:
            `PackedText`.

        Raises:
            ValueError: `max_sequence_length` has no room for one token of each text.
        """
        texts = [first] if second is None else [first, second]
        encodings = [self._engine.encode(text, add_special_tokens=False) for text in texts]
        lengths = [len(encoding.ids) for encoding in encodings]
        if max_sequence_length is not None:
            room = max_sequence_length - 1 - len(texts)
            if room < len(texts):
                raise ValueError(
                    "`max_sequence_length` must have room for [CLS], [SEP] and a token of each text. "
                    f"Received: max_sequence_length={max_sequence_length} for {len(texts)} texts."
                )
            while sum(lengths) > room:
                lengths[0 if lengths[0] > lengths[-1] else -1] -= 1
        token_ids, segment_ids, offsets = [self._ids["[CLS]"]], [0], [(0, 0)]
        for segment, (encoding, length) in enumerate(zip(encodings, lengths, strict=True)):
            token_ids += [*encoding.ids[:length], self._ids["[SEP]"]]
            offsets += [*encoding.offsets[:length], (0, 0)]
            segment_ids += [segment] * (length + 1)
        return PackedText(token_ids, segment_ids, offsets)

    def decode(self, token_ids):
        """Return readable text: pieces joined, special tokens kept as written."""
        return self._engine.decode(list(token_ids), skip_special_tokens=False)

    def save(self, folder):
        """Write `vocab.txt` and `tokenizer_config.json`, as Hugging Face's tokenizers read them."""
        folder = pathlib.Path(folder)
        write_vocabulary(self.vocabulary, folder / "vocab.txt")
        settings = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.lowercase,
            "strip_accents": self.strip_accents,
            "tokenize_chinese_chars": self.split_chinese,
        }
        if self.max_word_length != MAX_WORD_LENGTH:
            settings["max_word_length"] = self.max_word_length  # kbert's own key.
        (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def from_folder(cls, folder, **changes):
        """Read the tokenizer of a checkpoint folder.

        Args:
            folder: holds what `read_tokenizer_files` reads.
            **changes: constructor arguments that differ from the folder's.

        Raises:
            FileNotFoundError: there is no vocabulary.
            ValueError: a file is damaged.
        """
        vocabulary, settings, _ = read_tokenizer_files(folder)
        return cls(vocabulary, **(settings | changes))

    @classmethod
    def from_vocabulary_file(cls, path, lowercase=None, keep_accents=False, **settings):
        """Make the tokenizer of a vocabulary file alone, which says nothing of case and accents.

        Args:
            path: as in `read_vocabulary`.
            lowercase: bool; None for what the vocabulary shows, see `has_capitals`.
            keep_accents: bool. True: lower-case, but keep accents. They are also kept where the vocabulary has whole
                Hangul syllables, which would come apart into jamo and be [UNK], all of them.
            **settings: other constructor arguments.

        Raises:
            ValueError: as `read_vocabulary`.
        """
        vocabulary = read_vocabulary(path)
        lowercase = not has_capitals(vocabulary) if lowercase is None else lowercase
        strip_accents = False if keep_accents or has_hangul_syllables(vocabulary) else None
        return cls(vocabulary, lowercase=lowercase, strip_accents=strip_accents, **settings)

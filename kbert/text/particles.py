"""Korean particles as pieces of their own: 학교 ##에 rather than one token 학교에."""

import functools

# What `kiwipiepy` calls nouns, pronouns, numerals, their prefixes and suffixes, roots, Latin letters and numbers.
_NOUN_TAGS = ("NNG", "NNP", "NNB", "NP", "NR", "XPN", "XSN", "XR", "SL", "SN")
# A longer list is learnt and the words with particles are left out of it.
SPARE = 2


def set_particles_apart(tokens, vocabulary_size):
    """Leave out the words that are a noun and a particle, as long as both parts are tokens.

    WordPiece takes the longest piece it has. With 학교에 ("to the school") in the vocabulary, the token 학교 never
    stands before ##에 in training, and a model cannot give it as an answer to "[MASK]에". The particles, as ## pieces,
    move to the front, so that none is cut off.

    Args:
        tokens: list of str, a learnt vocabulary, the most frequent pieces first; longer than the result should be.
        vocabulary_size: int, the most tokens of the result.

    Returns:
        list of str. Words that the analysis calls something else (하나, 결과, 있는) stay, also those whose noun looks
        different before its particle (내가).

    Raises:
        ImportError: `kiwipiepy` is not installed.
        ValueError: `vocabulary_size` has no room for a piece beside the special tokens and the alphabet.

    Source: the morphological analyser Kiwi, word by word without context.
    """
    kiwi, known = _analyser(), set(tokens)
    parts = {token: _noun_and_particle(kiwi, token.removeprefix("##")) for token in tokens}
    particles = {f"##{pair[1]}" for token, pair in parts.items() if pair and not token.startswith("##")} & known

    def comes_apart(token):
        if parts[token] is None or token in particles:
            return False
        noun, particle = parts[token]
        if token.startswith("##"):
            noun = f"##{noun}"
            if len(noun) < len("##학교"):  # Without the word before it a syllable is no noun.
                return False
        return noun in known and f"##{particle}" in known

    kept = [token for token in tokens if not comes_apart(token)]
    num_first = next((index for index, token in enumerate(kept) if _is_learnt(token)), len(kept))
    if vocabulary_size <= num_first:
        raise ValueError(
            "`vocabulary_size` must leave room beside the special and reserved tokens and the alphabet. "
            f"Received: vocabulary_size={vocabulary_size}, {num_first} taken. Raise it or lower limit_alphabet."
        )
    first, learnt = kept[:num_first], kept[num_first:]
    return [*first, *sorted(particles - set(first)), *(token for token in learnt if token not in particles)][
        :vocabulary_size
    ]


def without_particle(word):
    """Return the noun of a Korean word that is a noun and a particle, such as 학교 of 학교에; any other word as it is.

    Raises:
        ImportError: `kiwipiepy` is not installed.
    """
    parts = _noun_and_particle(_analyser(), word)
    return word if parts is None else parts[0]


@functools.cache
def _analyser():
    try:
        from kiwipiepy import Kiwi
    except ModuleNotFoundError as error:
        raise ImportError(
            "A Korean vocabulary needs kiwipiepy, which tells particles. Install it with "
            "`pip install 'keras-kbert[corpora]'`."
        ) from error
    return Kiwi()


def _is_learnt(token):
    """Tell a piece of several characters from the special tokens and the alphabet, which come before all pieces."""
    return len(token.removeprefix("##")) > 1 and not token.startswith("[")


def _noun_and_particle(kiwi, word):
    """Return the two parts of a word that is a noun with particles, or forms of the copula, behind it; else None."""
    morphemes = kiwi.tokenize(word)
    place = 0
    while place < len(morphemes) and morphemes[place].tag in _NOUN_TAGS:
        place += 1
    rest = morphemes[place:]
    # Behind a noun: particles, or the copula with its endings.
    if not place or not rest or not all(morpheme.tag.startswith(("J", "VCP", "E")) for morpheme in rest):
        return None
    if rest[0].tag.startswith("E"):
        return None
    start = rest[0].start
    noun = "".join(morpheme.form for morpheme in morphemes[:place])
    return (noun, word[start:]) if word[:start] == noun else None

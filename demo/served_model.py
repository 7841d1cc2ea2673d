"""The page's questions, answered by a model behind TensorFlow Serving or `kbert serve`."""

import dataclasses
import re

from demo.page_model import PageModel
from kbert.inference.fill_mask import DEFAULT_TOP_K, Candidate, FilledMask
from kbert.inference.masked_text import MASK, MaskedText
from kbert.inference.sentence_pair import PairVerdict
from kbert.serving.client import open_client

# A question of each language, and what a word of it looks like.
PROBES = {"en": ("The [MASK] is here.", "[A-Za-z]{2}"), "ko": ("나는 [MASK]에 간다.", "[가-힣]")}


def open_served_model(url, tokenizers):
    """Return the `PageModel` of a server: masks and pairs, without what needs the model itself.

    Args:
        url: "http://HOST:8501/v1/models/NAME" or "grpc://HOST:8500/NAME".
        tokenizers: dict of name to `WordPieceTokenizer`, for the tab "Tokens".

    Raises:
        ValueError: the address is none, no server answers there, or its model fills no masks.
        ImportError: gRPC's packages are not installed.
    """
    served = ServedModel(url)
    languages = _languages(served.fill_mask)
    cards = ({"name": url, "text": ""},)
    return PageModel(served.fill_mask, served.sentence_pair, tokenizers, languages=languages, cards=cards)


def _languages(fill_mask):
    """Return those of "en" and "ko" in which a model answers: it fills a mask with a word of the language."""
    found = []
    for language, (question, script) in PROBES.items():
        (mask,) = fill_mask(question)
        if any(re.search(script, candidate.word) for candidate in mask.candidates):
            found.append(language)
    return tuple(found) or ("en",)


@dataclasses.dataclass(frozen=True)
class ServedModel:
    """A model behind an address.

    Attributes:
        url: str, as in `open_served_model`.
    """

    url: str

    def fill_mask(self, text, top_k=DEFAULT_TOP_K):
        """Return what `kbert.FillMask` returns for one text; of the words only as many as were exported.

        Raises:
            ValueError: the text is empty or has no mask, or the server does not answer.
        """
        _check_words(text)
        answer = {name: value[0] for name, value in self._predict("fill_mask", text=[text]).items()}
        count = min(int(answer["num_masks"]), len(answer["words"]))
        if count == 0:
            raise ValueError(
                f"A text must hold at least one {MASK}. Received: {text[:80]!r}. Write {MASK} where a word is missing."
            )
        places = [(int(answer["starts"][n]), int(answer["ends"][n])) for n in range(count)]
        masked = MaskedText(text, (), places, range(count))
        return [
            FilledMask(
                *places[number],
                tuple(
                    # An id is for the vocabulary of the server, which is not here.
                    Candidate(str(word), None, float(probability), masked.fill({number: str(word)}))
                    for word, probability in zip(
                        answer["words"][number][:top_k], answer["probabilities"][number][:top_k], strict=True
                    )
                ),
                (int(answer["window_starts"][number]), int(answer["window_ends"][number])),
            )
            for number in range(count)
        ]

    def sentence_pair(self, first, second, truncate=True):
        """Return what `kbert.SentencePair` returns; the server always cuts a pair that is too long.

        Raises:
            ValueError: a text is empty, or the server does not answer.
        """
        single = isinstance(first, str)
        firsts, seconds = ([first], [second]) if single else (first, second)
        _check_words(*firsts, *seconds)
        answer = self._predict("sentence_pair", text=list(firsts), text_pair=list(seconds))
        verdicts = [
            PairVerdict(float(follows), float(random))
            for follows, random in zip(answer["follows"], answer["random"], strict=True)
        ]
        return verdicts[0] if single else verdicts

    def _predict(self, signature, **inputs):
        try:
            return open_client(self.url).predict(signature, **inputs)
        except OSError as error:
            raise ValueError(
                f"The model's server must answer. Received: {error} from {self.url}. Start it, or try again later."
            ) from error


def _check_words(*texts):
    if not all(text.strip() for text in texts):
        raise ValueError("A text must have at least one word. Received: an empty text. Write a sentence.")

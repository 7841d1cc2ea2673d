"""Questions in plain strings."""

from kbert.inference.answer import Answer
from kbert.inference.choose import Choose
from kbert.inference.classify import Classify
from kbert.inference.embed import EmbedText
from kbert.inference.features import extract_features
from kbert.inference.fill_mask import FillMask
from kbert.inference.inspect_text import InspectText
from kbert.inference.masking_game import PlayMasking
from kbert.inference.score import ScoreText
from kbert.inference.sentence_pair import SentencePair
from kbert.inference.tag import Tag

__all__ = [
    "Answer",
    "Choose",
    "Classify",
    "EmbedText",
    "FillMask",
    "InspectText",
    "PlayMasking",
    "ScoreText",
    "SentencePair",
    "Tag",
    "extract_features",
]

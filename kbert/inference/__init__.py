"""Questions in plain strings."""

from kbert.inference.embed import EmbedText
from kbert.inference.features import extract_features
from kbert.inference.fill_mask import FillMask
from kbert.inference.inspect_text import InspectText
from kbert.inference.score import ScoreText
from kbert.inference.sentence_pair import SentencePair

__all__ = ["EmbedText", "FillMask", "InspectText", "ScoreText", "SentencePair", "extract_features"]

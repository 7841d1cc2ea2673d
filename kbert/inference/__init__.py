"""Questions in plain strings."""

from kbert.inference.fill_mask import FillMask
from kbert.inference.sentence_pair import SentencePair

__all__ = ["FillMask", "SentencePair"]

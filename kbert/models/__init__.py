"""BERT models: the encoder, and the encoder with heads."""

from kbert.models.backbone import BertBackbone
from kbert.models.classification import BertClassifier, BertMultipleChoice
from kbert.models.pretraining import BertPretrainer
from kbert.models.token_level import BertSpanFinder, BertTagger

__all__ = [
    "BertBackbone",
    "BertClassifier",
    "BertMultipleChoice",
    "BertPretrainer",
    "BertSpanFinder",
    "BertTagger",
]

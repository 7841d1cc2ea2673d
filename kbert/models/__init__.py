"""BERT models: the encoder, and the encoder with heads."""

from kbert.models.backbone import BertBackbone
from kbert.models.pretraining import BertPretrainer

__all__ = ["BertBackbone", "BertPretrainer"]

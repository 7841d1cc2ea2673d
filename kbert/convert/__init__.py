"""Checkpoints in and out."""

from kbert.convert.checkpoint import Checkpoint
from kbert.convert.huggingface import save_checkpoint
from kbert.convert.keras_hub import from_keras_hub, save_keras_hub, to_keras_hub
from kbert.convert.sources import find_checkpoint, load

__all__ = [
    "Checkpoint",
    "find_checkpoint",
    "from_keras_hub",
    "load",
    "save_checkpoint",
    "save_keras_hub",
    "to_keras_hub",
]

"""Checkpoints in and out."""

from kbert.convert.huggingface import Checkpoint, load_checkpoint, save_checkpoint

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]

"""A checkpoint as a SavedModel that takes strings, for TensorFlow Serving."""

from kbert.export.front import export_saved_model

__all__ = ["export_saved_model"]

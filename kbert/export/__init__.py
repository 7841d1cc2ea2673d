"""A checkpoint as a SavedModel that takes strings, for TensorFlow Serving; or its model for ONNX and LiteRT."""

from kbert.export.front import export_saved_model, export_token_ids

__all__ = ["export_saved_model", "export_token_ids"]

"""Import this first to load TensorFlow, which reads the data on every backend, without the notes of its C++ side."""

from kbert.quiet_start import without_native_notes

with without_native_notes():
    import tensorflow  # noqa: F401

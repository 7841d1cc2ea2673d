"""Import this first to load TensorFlow, which reads the data on every backend, fast and without its native notes."""

from kbert.quiet_start import without_native_notes, without_unused_packages

with without_native_notes(), without_unused_packages():
    import tensorflow  # noqa: F401

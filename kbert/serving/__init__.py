"""Run what `kbert export` wrote, through TensorFlow's C library: Python's TensorFlow is never imported."""

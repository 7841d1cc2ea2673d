"""Prepared examples: sentence pairs, shards, masking, batches. TensorFlow, never Keras."""

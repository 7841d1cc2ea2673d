"""Tasks: read their public files, make rows of them, score the answers. Neither Keras nor TensorFlow."""

"""Text: corpora, sentences, vocabularies and WordPiece. No TensorFlow, no Keras."""

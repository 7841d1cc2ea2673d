"""kbert: BERT for Keras 3."""

import importlib

__version__ = "0.1.0"

# Public name -> the module that has it. Loaded when first asked for: importing kbert loads neither Keras nor a backend.
_PUBLIC = {
    "Answer": "kbert.inference",
    "BertConfig": "kbert.config",
    "BertBackbone": "kbert.models",
    "BertClassifier": "kbert.models",
    "BertMultipleChoice": "kbert.models",
    "BertPretrainer": "kbert.models",
    "BertSpanFinder": "kbert.models",
    "BertTagger": "kbert.models",
    "Choose": "kbert.inference",
    "Classify": "kbert.inference",
    "EmbedText": "kbert.inference",
    "FillMask": "kbert.inference",
    "InspectText": "kbert.inference",
    "PlayMasking": "kbert.inference",
    "ScoreText": "kbert.inference",
    "SentencePair": "kbert.inference",
    "Tag": "kbert.inference",
    "WordPieceTokenizer": "kbert.text.tokenizer",
    "export_saved_model": "kbert.export",
    "extract_features": "kbert.inference",
    "learn_vocabulary": "kbert.text.vocabulary",
    "load": "kbert.convert",
    "save_checkpoint": "kbert.convert",
}
__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name):
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'kbert' has no attribute {name!r}")


def __dir__():
    return __all__

"""The answers that the signatures of a SavedModel must give: those of `kbert.inference`, by the eager tokenizer."""

from kbert.export.comparison import compare_embed, compare_fill_mask, compare_sentence_pair
from kbert.export.fine_tuned_comparison import compare_answer, compare_classify, compare_tag
from kbert.inference import Answer, EmbedText, FillMask, SentencePair, Tag
from kbert.inference.source import Source
from kbert.models import BertClassifier, BertPretrainer, BertSpanFinder, BertTagger

ONE, TWO, QUESTION = ("text",), ("text", "text_pair"), ("question", "context")


def find_references(checkpoint, model=None, backbone=None):
    """Return how to compare each signature of a checkpoint that takes strings.

    Args:
        checkpoint: `kbert.convert.Checkpoint`.
        model, backbone: what answers in place of its model and that model's backbone: a function of the same inputs
            and outputs; or None.

    Returns:
        dict of the signature's name to (names of its inputs, function of (answers, *texts) that returns the largest
        difference; see `kbert.export.comparison`).
    """
    tokenizer, longest = checkpoint.tokenizer, checkpoint.model.backbone.config.max_sequence_length
    model = checkpoint.model if model is None else model
    backbone = checkpoint.model.backbone if backbone is None else backbone
    embed = {pooling: EmbedText(backbone, tokenizer, longest, pooling=pooling) for pooling in ("mean", "cls")}
    return _head_references(checkpoint, Source(model, tokenizer, longest)) | {
        "embed": (ONE, lambda answers, *texts: compare_embed(answers, embed, *texts)),
        "embed_pair": (TWO, lambda answers, *texts: compare_embed(answers, embed, *texts)),
    }


def _head_references(checkpoint, source):
    model, asked = checkpoint.model, (source.model, source.tokenizer, source.max_sequence_length)
    references = {}
    if isinstance(model, BertClassifier):
        for name, inputs in (("classify", ONE), ("classify_pair", TWO)):
            references[name] = inputs, lambda answers, *texts: compare_classify(answers, model, source, *texts)
    elif isinstance(model, BertTagger):
        tag = Tag(*asked, label_names=model.label_names)
        references["tag"] = ONE, lambda answers, *texts: compare_tag(answers, tag, *texts)
    elif isinstance(model, BertSpanFinder):
        find = Answer(*asked)
        references["answer"] = QUESTION, lambda answers, *texts: compare_answer(answers, find, *texts)
    elif isinstance(model, BertPretrainer):
        missing = set(checkpoint.missing_parts)
        if "mlm" not in missing:
            fill_mask = FillMask(*asked)
            references["fill_mask"] = ONE, lambda answers, *texts: compare_fill_mask(answers, fill_mask, *texts)
        if not missing & {"pooler", "nsp"}:
            judge = SentencePair(*asked)
            references["sentence_pair"] = TWO, lambda answers, *texts: compare_sentence_pair(answers, judge, *texts)
    return references

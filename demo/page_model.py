"""What the page asks."""

import dataclasses
import functools
import pathlib

from demo.about_tab import card_of, sizes_of
from demo.inside_tab import MAX_TOKENS
from kbert import FillMask, InspectText, PlayMasking, ScoreText, SentencePair, WordPieceTokenizer, load
from kbert.convert.sources import find_checkpoint
from kbert.inference.by_head import open_by_head
from kbert.inference.languages import ENGLISH, KOREAN, by_language, reads


@dataclasses.dataclass(frozen=True)
class PageModel:
    """The questions the page puts, each a callable with the signature of the class named, or None for no tab.

    Attributes:
        fill_mask: `kbert.FillMask`.
        sentence_pair: `kbert.SentencePair`.
        tokenizers: dict of name to `WordPieceTokenizer`, shown side by side.
        fill_jointly: `kbert.FillMask.jointly`.
        score: `kbert.ScoreText`.
        inspect: `kbert.InspectText` of at most `demo.inside_tab.MAX_TOKENS` tokens.
        play_masking: `kbert.PlayMasking`, with `inspect`.
        languages: tuple of "en" and "ko", those to show examples in.
        cards: tuple of dict, what `demo.about_tab.card_of` returns of each model.
        sizes: function without arguments to what `demo.about_tab.sizes_of` returns of each model, an iterable.
        run: str, folder of a run of training/pretrain.py to watch.
        minute_runs: `demo.minute_runs.MinuteRuns`, the runs that people start on the page.
        tasks: dict of name to `kbert.Classify`, `Tag`, `Answer` or `Choose`.
    """

    fill_mask: object
    sentence_pair: object
    tokenizers: dict
    fill_jointly: object = None
    score: object = None
    inspect: object = None
    play_masking: object = None
    languages: tuple = ("en", "ko")
    tasks: dict = dataclasses.field(default_factory=dict)
    cards: tuple = ()
    sizes: object = list
    run: str | None = None
    minute_runs: object = None


def open_page_model(name):
    """Return the `PageModel` of a preset or checkpoint folder; for None of the two presets, asked by the text.

    Raises:
        FileNotFoundError: no such preset or folder.
        ValueError: the checkpoint has no trained head for masked words, nor for pairs.
    """

    def shortened(checkpoint):
        return min(checkpoint.model.backbone.config.max_sequence_length, MAX_TOKENS)

    def inspect(checkpoint):
        return InspectText(checkpoint, max_sequence_length=shortened(checkpoint))

    def play_masking(checkpoint):
        return PlayMasking(checkpoint, max_sequence_length=shortened(checkpoint))

    kinds = {
        "fill_mask": FillMask,
        "fill_jointly": lambda checkpoint: FillMask(checkpoint).jointly,
        "score": ScoreText,
        "sentence_pair": SentencePair,
        "inspect": inspect,
        "play_masking": play_masking,
    }
    presets = preset_tokenizers()
    if name is None:
        load_once = functools.cache(load)  # The questions of a language share its model.
        questions = {key: by_language(lambda preset, kind=kind: kind(load_once(preset))) for key, kind in kinds.items()}
        cards = tuple(card_of(preset, find_checkpoint(preset)) for preset in presets)
        # Nothing is loaded before the first question.
        sizes = functools.partial(map, lambda preset: sizes_of(load_once(preset)), presets)
        return PageModel(**questions, tokenizers=presets, cards=cards, sizes=sizes)
    checkpoint = load(name)
    can_fill = "mlm" not in checkpoint.missing_parts and not checkpoint.config.is_causal
    can_pair = not {"pooler", "nsp"} & {*checkpoint.missing_parts}
    if not can_fill and not can_pair:
        FillMask(checkpoint)  # Says what is wrong.
    opened = {
        key: kind(checkpoint) for key, kind in kinds.items() if (can_pair if key == "sentence_pair" else can_fill)
    }
    return PageModel(
        **dict.fromkeys(kinds) | opened,
        tokenizers={pathlib.Path(name).name: checkpoint.tokenizer} | presets,
        languages=reads(checkpoint.tokenizer) or ("en",),
        cards=(card_of(pathlib.Path(name).name, _folder_of(name)),),
        sizes=lambda: [sizes_of(checkpoint)],
    )


def preset_tokenizers():
    """Return a dict of the presets' `WordPieceTokenizer` by name."""
    return {preset: WordPieceTokenizer.from_folder(find_checkpoint(preset)) for preset in (ENGLISH, KOREAN)}


def _folder_of(name):
    """Return the folder of a checkpoint, None for one from a hub."""
    try:
        return find_checkpoint(name)
    except FileNotFoundError:
        return None


def open_tasks(folders):
    """Return `PageModel.tasks` of fine-tuned checkpoint folders, each by the name of its folder.

    Raises:
        FileNotFoundError: no such folder.
        ValueError: a checkpoint was not fine-tuned, or two folders have one name.
    """
    names = [pathlib.Path(folder).resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise ValueError(f"Tasks must differ in the name of their folder. Received: {', '.join(names)}. Rename one.")
    return {name: open_by_head(folder) for name, folder in zip(names, folders, strict=True)}

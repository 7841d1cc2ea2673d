"""Which rows a run reads when: short ones, and with --long_data long ones for the last part of its updates.

The two phases of the paper are one run: one optimizer and one learning rate over all updates, as when Google's script
goes on with other files in the same folder. What the second phase teaches are the positions behind the short rows.
(NVIDIA's recipe gives each phase a warmup and a peak of its own: that is a second run with --init.)

Source: BERT paper, appendix A.2; google-research/bert README, "Pre-training tips and caveats".
"""

from typing import NamedTuple

from kbert.data.mixture import mixed_datasets
from kbert.text.tokenizer import WordPieceTokenizer


class Phase(NamedTuple):
    """A stretch of a run on rows of one kind.

    Attributes:
        data: tuple of dataset folders.
        batch_size: int, rows a batch.
        mask_selection_length: int, mask slots a row.
        first_step, last_step: updates made before it and after it.
    """

    data: tuple
    batch_size: int
    mask_selection_length: int
    first_step: int
    last_step: int


class Leg(NamedTuple):
    """One call of `fit`: epochs of one length in one phase.

    Attributes:
        phase: `Phase`.
        first_epoch, last_epoch: epochs over before it and after it. An epoch ends with a save.
        first_step, last_step: updates made before it and after it.
        steps_per_epoch: int, updates between two saves.
    """

    phase: Phase
    first_epoch: int
    last_epoch: int
    first_step: int
    last_step: int
    steps_per_epoch: int


def phases_of(settings):
    """Return the `Phase`s of a run: one, or with `long_data` two.

    Raises:
        ValueError: `long_share` leaves one of two phases without an update.
    """
    steps = settings.steps
    short = Phase(settings.data, settings.batch_size, settings.mask_selection_length, 0, steps)
    if settings.long_data is None:
        return [short]
    switch = steps - round(settings.long_share * steps)
    if not 0 < switch < steps:
        raise ValueError(
            "--long_share must leave both phases an update. Received: "
            f"--long_share {settings.long_share} of {steps:,} updates."
        )
    rows = settings.batch_size if settings.long_batch_size is None else settings.long_batch_size
    return [
        short._replace(last_step=switch),
        Phase(settings.long_data, rows, settings.long_mask_selection_length, switch, steps),
    ]


def epoch_ends(settings):
    """Return the updates made when each epoch is over: every `save_every` of a phase, and its last."""
    ends = []
    for phase in phases_of(settings):
        ends += range(phase.first_step + settings.save_every, phase.last_step, settings.save_every)
        ends.append(phase.last_step)
    return ends


def legs(settings, first_step):
    """Return the `Leg`s from `first_step`, the end of an epoch or 0, to the end of the run.

    The epochs of one `fit` are equally long and read one dataset, so the last of a phase may need a call of its own.
    """
    found, last_step = [], 0
    for epoch, end in enumerate(epoch_ends(settings)):
        first, last_step = last_step, end
        if first < first_step:
            continue
        phase = phase_at(settings, first)
        if found and (found[-1].phase, found[-1].steps_per_epoch) == (phase, end - first):
            found[-1] = found[-1]._replace(last_epoch=epoch + 1, last_step=end)
        else:
            found.append(Leg(phase, epoch, epoch + 1, first, end, end - first))
    return found


def phase_at(settings, step):
    """Return the `Phase` of the update after `step`; behind the last update, the last."""
    return [phase for phase in phases_of(settings) if phase.first_step <= step][-1]


def rows_between(settings, first_step, last_step):
    """Return the rows that the updates between two steps read."""
    return settings.accumulate * sum(
        phase.batch_size * max(0, min(last_step, phase.last_step) - max(first_step, phase.first_step))
        for phase in phases_of(settings)
    )


def check_data(settings, tokenizer, config):
    """Refuse, before a run starts, rows of any of its phases that do not fit the tokenizer or the model.

    Args:
        settings: `training.pretrain_settings.Settings`.
        tokenizer: `WordPieceTokenizer` of the checkpoint.
        config: `BertConfig` of the model.
    Raises:
        FileNotFoundError, ValueError: as `mixed_datasets`.
        ValueError: another vocabulary beside the shards, or longer rows than the model has positions.
    """
    for folder in (*settings.data, *(settings.long_data or ())):
        check_folder(folder, tokenizer, config, settings.data[0])


def warn_of_few_slots(settings):
    """Print a line for each phase whose long rows have more tokens to mask than slots: they are masked less."""
    for phase in phases_of(settings):
        longest = mixed_datasets(phase.data).max_sequence_length
        wanted = round(settings.mask_selection_rate * longest)
        if wanted > phase.mask_selection_length:
            print(
                f"warning: of a row of {longest} tokens {wanted} would be selected, and there are "
                f"{phase.mask_selection_length} mask slots: longer rows are masked less. See --mask_selection_length."
            )


def check_folder(folder, tokenizer, config, source):
    """Refuse rows that do not fit a tokenizer or a model.

    Args:
        folder: of the rows.
        tokenizer: `WordPieceTokenizer`.
        config: `BertConfig` of the model.
        source: folder that the tokenizer is of, for the message.
    Raises:
        FileNotFoundError, ValueError: as `mixed_datasets`.
        ValueError: the rows are of another vocabulary, or of another case or treatment of accents, or longer than the
            model has positions.
    """
    info, theirs = mixed_datasets(folder), WordPieceTokenizer.from_folder(folder)
    found = info.vocabulary_size, info.special_token_ids, theirs.vocabulary
    if found != (tokenizer.vocabulary_size, tokenizer.special_token_ids, tokenizer.vocabulary):
        raise ValueError(
            "The rows of a run must be prepared with its vocabulary. Received: "
            f"{folder} of {found[0]:,} tokens, with another vocab.txt or dataset.json than {source} of "
            f"{tokenizer.vocabulary_size:,}. Prepare the text with --vocabulary {source}."
        )
    check_normal_form(theirs, folder, tokenizer, source)
    if info.max_sequence_length > config.max_sequence_length:
        raise ValueError(
            "Rows must not be longer than the model. Received: "
            f"{folder} with rows of {info.max_sequence_length} tokens, a model of {config.max_sequence_length}."
        )


def check_normal_form(tokenizer, folder, own, source):
    """Refuse rows whose case or accents were treated otherwise than the model's tokenizer, `own` of `source`, does."""
    one, other = _normal_form(tokenizer), _normal_form(own)
    if one != other:
        raise ValueError(
            "The rows of a run must be prepared with its tokenizer. Received: "
            f"{one} in {folder}, {other} in {source}. Prepare the text with --vocabulary {source}."
        )


def _normal_form(tokenizer):
    strips = tokenizer.lowercase if tokenizer.strip_accents is None else tokenizer.strip_accents
    return {"lowercase": tokenizer.lowercase, "strip_accents": strips, "split_chinese": tokenizer.split_chinese}

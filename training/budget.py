"""How long a run trains: its updates, from one of four budgets."""

import math

from kbert.data.mixture import mixed_datasets

BUDGETS = ("steps", "epochs", "tokens", "minutes")
DEFAULT_STEPS = 10000


def updates_of(settings):
    """Return the updates that a run's budget pays for: `DEFAULT_STEPS` where none is given.

    Passes over the data and tokens (special ones included, padding not) are rounded up to whole updates.

    Args:
        settings: `training.pretrain_settings.Settings`.

    Returns:
        int, or None for minutes: `training.minutes` measures what they are.

    Raises:
        ValueError: several budgets, one that is not above 0 or does not say how long each of two phases is, no row
            between two saves or in an update.
    """
    given = {name: getattr(settings, name) for name in BUDGETS if getattr(settings, name) is not None}
    received = " ".join(f"--{name} {value}" for name, value in given.items())
    if len(given) > 1:
        raise ValueError(f"A run must have one budget: --{', --'.join(BUDGETS)}. Received: {received}.")
    for name, value in given.items():
        if not 0 < value < math.inf:
            raise ValueError(f"--{name} must be above 0. Received: {received}.")
    for name in ("batch_size", "accumulate", "save_every"):
        if getattr(settings, name) < 1:
            raise ValueError(f"--{name} must be at least 1. Received: --{name} {getattr(settings, name)}.")
    if "minutes" in given:
        return None
    if "epochs" not in given and "tokens" not in given:
        return given.get("steps", DEFAULT_STEPS)
    if settings.long_data is not None:
        raise ValueError(
            "A run of two phases must have its budget in --steps or --minutes, whose share --long_share is. "
            f"Received: {received} with --long_data."
        )
    shards = mixed_datasets(settings.data).shards
    rows, tokens = (sum(getattr(shard, name) for shard in shards) for name in ("rows", "tokens"))
    passes = settings.epochs if "epochs" in given else settings.tokens / max(1, tokens)
    return math.ceil(passes * rows / (settings.batch_size * settings.accumulate)) or 1

"""How long a run trains: its updates from one of three budgets, and the calls of `fit` that make them."""

import math
from typing import NamedTuple

from kbert.data.mixture import mixed_datasets

BUDGETS = ("steps", "epochs", "tokens")
DEFAULT_STEPS = 10000


class Leg(NamedTuple):
    """One call of `fit`: the updates before it, those after it, and those between two saves."""

    first_step: int
    last_step: int
    steps_per_epoch: int


def updates_of(settings):
    """Return the updates that a run's budget pays for: `DEFAULT_STEPS` where none is given.

    Passes over the data and tokens (special ones included, padding not) are rounded up to whole updates.

    Args:
        settings: `training.pretrain_settings.Settings`.

    Raises:
        ValueError: several budgets, one that is not above 0, no row between two saves or in an update.
    """
    given = {name: getattr(settings, name) for name in BUDGETS if getattr(settings, name) is not None}
    received = " ".join(f"--{name} {value}" for name, value in given.items())
    if len(given) > 1:
        raise ValueError(f"A run must have one budget: --steps, --epochs or --tokens. Received: {received}.")
    for name, value in given.items():
        if not 0 < value < math.inf:
            raise ValueError(f"--{name} must be above 0. Received: {received}.")
    for name in ("batch_size", "accumulate", "save_every"):
        if getattr(settings, name) < 1:
            raise ValueError(f"--{name} must be at least 1. Received: --{name} {getattr(settings, name)}.")
    if "epochs" not in given and "tokens" not in given:
        return given.get("steps", DEFAULT_STEPS)
    shards = mixed_datasets(settings.data).shards
    rows, tokens = (sum(getattr(shard, name) for shard in shards) for name in ("rows", "tokens"))
    passes = settings.epochs if "epochs" in given else settings.tokens / max(1, tokens)
    return math.ceil(passes * rows / (settings.batch_size * settings.accumulate)) or 1


def legs(total_steps, save_every, first_step):
    """Return the `Leg`s from `first_step` to the end: epochs of `save_every` updates, then a shorter one for the rest.

    Two calls, because the epochs of one `fit` are equally long.
    """
    last_whole = total_steps - total_steps % save_every
    found = [
        Leg(first_step, last_whole, save_every),
        Leg(max(first_step, last_whole), total_steps, total_steps - last_whole),
    ]
    return [leg for leg in found if leg.first_step < leg.last_step]


def step_after(settings, epoch):
    """Return the updates made when an epoch is over, counted from 0; its save bears this number."""
    return min((epoch + 1) * settings.save_every, settings.steps)

"""Scores of classes, labels and numbers, in percent as papers and leaderboards print them."""

import warnings

import numpy as np
import scipy.stats
import sklearn.metrics


def accuracy(targets, answers):
    """Return the share of answers that equal their target."""
    return 100 * float(sklearn.metrics.accuracy_score(targets, answers))


def f1(targets, answers):
    """Return F1 of class 1, as GLUE counts paraphrases."""
    return 100 * float(sklearn.metrics.f1_score(targets, answers, zero_division=0.0))


def f1_macro(targets, answers):
    """Return the mean of the F1 of all classes, or of all labels for a matrix of 0 and 1."""
    return 100 * float(sklearn.metrics.f1_score(targets, answers, average="macro", zero_division=0.0))


def f1_micro(targets, answers):
    """Return F1 over all labels together."""
    return 100 * float(sklearn.metrics.f1_score(targets, answers, average="micro", zero_division=0.0))


def matthews(targets, answers):
    """Return Matthews' correlation; 0 if all answers are of one class."""
    return 100 * float(sklearn.metrics.matthews_corrcoef(targets, answers))


def pearson(targets, answers):
    """Return Pearson's correlation; 0 if all answers are the same number."""
    return _correlation(scipy.stats.pearsonr, targets, answers)


def spearman(targets, answers):
    """Return Spearman's rank correlation; 0 if all answers are the same number."""
    return _correlation(scipy.stats.spearmanr, targets, answers)


METRICS = {function.__name__: function for function in (accuracy, f1, f1_macro, f1_micro, matthews, pearson, spearman)}
# Undefined where all targets are alike.
_NEED_TWO_VALUES = ("f1", "matthews", "pearson", "spearman")


def _correlation(function, targets, answers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.stats.ConstantInputWarning)
        value = float(function(targets, answers).statistic)
    return 0.0 if np.isnan(value) and not np.isnan(answers).any() else 100 * value


def check_targets(targets, names, where):
    """Raise ValueError where a metric would have no value.

    Args:
        targets: list of the targets of a set.
        names: tuple of names in `METRICS`.
        where: str, the file, for the message.
    """
    if not len(targets):
        raise ValueError(f"A file to be scored must have rows. Received: none in {where}.")
    undefined = [name for name in names if name in _NEED_TWO_VALUES]
    if undefined and all_alike(targets):
        raise ValueError(
            f"There must be two different answers for {' and '.join(undefined)}. "
            f"Received: {len(targets)} rows, all with the same, in {where}."
        )


def not_scored_note(targets, where):
    """Return a list of the note that the known answers of a test set are not scored; empty where they are.

    Args:
        targets, where: as in `check_targets`; a target is None where it is not known.
    """
    if not targets or None in targets or not all_alike(targets):
        return []
    return [f"{where} is not scored: all of its answers are the same"]


def all_alike(targets):
    """Tell whether the targets of a set are one and the same, as the placeholders of a test file are.

    Args:
        targets: list of numbers or tuples of them.
    """
    return len({np.asarray(target, float).tobytes() for target in targets}) < 2

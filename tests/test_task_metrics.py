"""Scores against their formulas, and where they have none."""

import numpy as np
import pytest
from conftest import once

from kbert.tasks.metrics import METRICS, check_targets

pytestmark = once

TARGETS = np.array([1, 1, 1, 0, 0, 1, 0, 1])
ANSWERS = np.array([1, 0, 1, 0, 1, 1, 0, 1])  # 4 true positives, 2 true negatives, 1 false positive, 1 false negative.


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", 100 * 6 / 8),
        ("f1", 100 * 2 * 4 / (2 * 4 + 1 + 1)),
        ("matthews", 100 * (4 * 2 - 1 * 1) / np.sqrt(5 * 5 * 3 * 3)),
        ("f1_macro", 100 * (8 / 10 + 4 / 6) / 2),
        ("pearson", 100 * np.corrcoef(TARGETS, ANSWERS)[0, 1]),
    ],
)
def test_two_classes(name, expected):
    assert METRICS[name](TARGETS, ANSWERS) == pytest.approx(expected)


def test_several_labels():
    targets = np.array([[1, 0, 1], [0, 0, 1], [0, 1, 0]])
    answers = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 0]])
    assert METRICS["f1_micro"](targets, answers) == pytest.approx(100 * 2 * 3 / (2 * 3 + 1 + 1))
    assert METRICS["f1_macro"](targets, answers) == pytest.approx(100 * (1 + 2 / 3 + 2 / 3) / 3)


def test_ranks_not_distances_count_for_spearman():
    targets, answers = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 10.0, 100.0, 50.0])
    assert METRICS["spearman"](targets, answers) == pytest.approx(100 * (1 - 6 * 2 / (4 * 15)))  # 1 - 6 d^2 / (n^3 - n)
    assert METRICS["pearson"](targets, answers) == pytest.approx(100 * np.corrcoef(targets, answers)[0, 1])


@pytest.mark.parametrize("name", ["matthews", "pearson", "spearman", "f1"])
def test_a_model_that_always_says_the_same_scores_0(name):
    assert METRICS[name](TARGETS, np.zeros(8)) == 0


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_a_model_that_says_nan_has_no_score(name):
    assert np.isnan(METRICS[name](np.array([1.0, 2.0]), np.array([np.nan, 1.0])))


def test_targets_that_cannot_be_scored():
    check_targets([0, 0], ("accuracy",), "dev.tsv")
    check_targets([0, 1], ("matthews",), "dev.tsv")
    with pytest.raises(ValueError, match="two different answers for f1.*2 rows, all with the same, in dev.tsv"):
        check_targets([1, 1], ("f1", "accuracy"), "dev.tsv")
    with pytest.raises(ValueError, match="must have rows. Received: none in dev.tsv"):
        check_targets([], ("accuracy",), "dev.tsv")

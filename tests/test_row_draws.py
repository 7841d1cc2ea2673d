"""Random numbers that belong to rows: the same in any batch, and as random as they should be."""

import numpy as np
import pytest
import tensorflow as tf
from conftest import once

from kbert.data.row_draws import draw_integers, draw_uniform

pytestmark = once


@pytest.mark.parametrize("num_draws", [1, 3, 4, 10, 131])
def test_rows_drawn_together_alone_and_in_a_graph_are_the_same(num_draws):
    whole = draw_uniform([5, 1], 0, 50, num_draws).numpy()
    assert whole.shape == (50, num_draws) and len(np.unique(whole)) == whole.size
    in_graph = tf.function(lambda first: draw_uniform([5, 1], first, 3, num_draws))
    for first in (0, 7, 47):
        np.testing.assert_array_equal(draw_uniform([5, 1], first, 3, num_draws), whole[first : first + 3])
        np.testing.assert_array_equal(in_graph(tf.constant(first, tf.int64)), whole[first : first + 3])
    # Far behind, where a run of the paper ends, too.
    far = 3_000_000_000
    np.testing.assert_array_equal(
        draw_uniform([5, 1], far, 4, num_draws)[2:], draw_uniform([5, 1], far + 2, 2, num_draws)
    )


def test_integers_likewise():
    whole = draw_integers([5, 2], 0, 400, 37, 11).numpy()
    np.testing.assert_array_equal(draw_integers([5, 2], 390, 10, 37, 11), whole[390:])
    counts, expected = np.bincount(whole.ravel(), minlength=11), whole.size / 11
    assert len(counts) == 11
    assert abs(np.sum((counts - expected) ** 2 / expected) - 10) < 4 * np.sqrt(20)


def test_numbers_are_uniform_and_rows_and_streams_have_nothing_to_do_with_each_other():
    draws = draw_uniform([5, 1], 0, 1000, 100).numpy()
    counts, expected = np.bincount((draws * 50).astype(int).ravel(), minlength=50), draws.size / 50
    assert abs(np.sum((counts - expected) ** 2 / expected) - 49) < 4 * np.sqrt(2 * 49)
    other_seed, other_stream = (draw_uniform(seed, 0, 1000, 100).numpy() for seed in ([6, 1], [5, 2]))
    for one, other in (
        (draws[:-1], draws[1:]),
        (draws[:, :-1], draws[:, 1:]),
        (draws, other_seed),
        (draws, other_stream),
    ):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 4 / np.sqrt(one.size)

"""Rows of all lengths become rows of few lengths, and what is added is masked."""

import numpy as np
import pytest
from conftest import once

pytestmark = once
LONGEST = 40


@pytest.mark.parametrize(("length", "expected"), [(1, 16), (16, 16), (17, 32), (32, 32), (33, 40), (40, 40)])
def test_a_length_is_rounded_up_but_not_above_the_models_longest(length, expected):
    import tensorflow as tf

    from kbert.export.few_lengths import round_up_length

    rows = {name: tf.ones([3, length], tf.int32) for name in ("token_ids", "segment_ids", "padding_mask")}
    padded = tf.function(round_up_length)(rows, LONGEST)
    for name, values in padded.items():
        np.testing.assert_array_equal(values, [[1] * length + [0] * (expected - length)] * 3, err_msg=name)

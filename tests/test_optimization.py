import keras
import numpy as np
import pytest
from conftest import make_model, to_numpy

from kbert.optimization import BertAdamW, WarmupLinearDecay


def test_schedule_is_the_closed_form():
    schedule = WarmupLinearDecay(3e-4, total_steps=50, warmup_steps=10)
    for step in range(60):
        expected = 3e-4 * (step / 10 if step < 10 else max(0, 50 - step) / 40)
        assert float(schedule(step)) == pytest.approx(expected, rel=1e-5, abs=1e-12)
    assert float(WarmupLinearDecay(1.0, 4)(0)) == 1.0


def test_schedule_survives_serialisation():
    schedule = WarmupLinearDecay(3e-4, 50, 10)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(schedule))
    assert again.get_config() == {"peak": 3e-4, "total_steps": 50, "warmup_steps": 10}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0.0, 5), "`peak` must be above 0. Received: peak=0.0"), ((1.0, 5, 5), "warmup_steps=5, total_steps=5"),
     ((1.0, 5, -1), "warmup_steps=-1"), ((1.0, 0), "total_steps=0")],
)  # fmt: skip
def test_impossible_schedules_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        WarmupLinearDecay(*arguments)


def decayed_paths(optimizer, variables):
    """Find out by an update with zero gradients: only decay can move a weight then."""
    before = to_numpy([variable.value for variable in variables])
    optimizer.apply([keras.ops.zeros(variable.shape) for variable in variables], variables)
    after = to_numpy([variable.value for variable in variables])
    return {v.path for v, old, new in zip(variables, before, after, strict=True) if np.abs(new - old).max() > 0}


def test_layer_norms_and_biases_are_not_decayed_and_all_else_is(rng):
    model = make_model(rng)
    variables = model.trainable_variables
    expected = {v.path for v in variables if v.path.split("/")[-1] in ("kernel", "embeddings")}
    assert decayed_paths(BertAdamW(0.1), variables) == expected
    assert {v.path.split("/")[-1] for v in variables} == {"kernel", "embeddings", "gamma", "beta", "bias"}
    # 2 x 6 kernels in the blocks, 3 tables, pooler, the two heads.
    assert len(expected) == 12 + 3 + 1 + 2


def test_the_exclusion_survives_serialisation(rng):
    optimizer = BertAdamW(0.1, weight_decay=0.05, epsilon=1e-5, global_clipnorm=2.0)
    again = BertAdamW.from_config(optimizer.get_config())
    assert (again.weight_decay, again.epsilon, again.global_clipnorm) == (0.05, 1e-5, 2.0)
    paths = decayed_paths(again, make_model(rng).trainable_variables)
    assert paths and not any(path.endswith(("gamma", "beta", "bias")) for path in paths)


def test_three_updates_follow_the_formula_with_clipping(rng):
    kernel, bias = (
        keras.Variable(rng.normal(size=shape), name=name) for shape, name in (((3, 4), "kernel"), ((4,), "bias"))
    )
    optimizer = BertAdamW(0.01, weight_decay=0.1, global_clipnorm=1.0)
    values = [to_numpy(kernel.value).astype("float64"), to_numpy(bias.value).astype("float64")]
    m, v = ([np.zeros_like(value) for value in values] for _ in range(2))
    for step in range(1, 4):
        gradients = [rng.normal(size=value.shape) * 3 for value in values]
        optimizer.apply([keras.ops.convert_to_tensor(g.astype("float32")) for g in gradients], [kernel, bias])
        norm = np.sqrt(sum((g**2).sum() for g in gradients))
        assert norm > 1
        for index, gradient in enumerate(gradients):
            clipped = gradient / norm
            if index == 0:
                values[0] -= 0.01 * 0.1 * values[0]
            m[index] = 0.9 * m[index] + 0.1 * clipped
            v[index] = 0.999 * v[index] + 0.001 * clipped**2
            # Keras adds epsilon to the root before it is corrected.
            rate = 0.01 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            values[index] -= rate * m[index] / (np.sqrt(v[index]) + 1e-6)
    np.testing.assert_allclose(to_numpy(kernel.value), values[0], atol=1e-5)
    np.testing.assert_allclose(to_numpy(bias.value), values[1], atol=1e-5)

import functools

import keras
import numpy as np
import pytest
import torch
from conftest import B, make_batch, make_model, once, to_numpy

from kbert.config import BertConfig
from kbert.models import BertBackbone, BertPretrainer
from kbert.optimization import BertAdamW, Lamb, WarmupLinearDecay


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


DECAYED = {
    *(
        f"block_{block}/{layer}/kernel"
        for block in range(2)
        for layer in (
            "attention/query", "attention/key", "attention/value", "attention/projection", "intermediate",
            "feed_forward",
        )
    ),
    *(f"embeddings/{table}_embedding/embeddings" for table in ("token", "segment", "position")),
    "pooler/dense/kernel", "mlm/dense/kernel", "nsp/dense/kernel",
}  # fmt: skip


@pytest.mark.parametrize("optimizer_class", [BertAdamW, Lamb])
def test_layer_norms_and_biases_are_not_decayed_and_all_else_is(rng, optimizer_class):
    variables = make_model(rng).trainable_variables
    assert decayed_paths(optimizer_class(0.1), variables) == DECAYED
    assert {v.path.split("/")[-1] for v in variables} == {"kernel", "embeddings", "gamma", "beta", "bias"}


@pytest.mark.parametrize("optimizer_class", [BertAdamW, Lamb])
def test_the_settings_and_the_exclusion_survive_serialisation(rng, optimizer_class):
    settings = {"weight_decay": 0.05, "epsilon": 1e-5, "global_clipnorm": 2.0, "bias_correction": False}
    settings |= {"beta_1": 0.8, "beta_2": 0.99, "gradient_accumulation_steps": 3}
    saved = keras.saving.serialize_keras_object(optimizer_class(0.1, **settings))
    again = keras.saving.deserialize_keras_object(saved)
    assert type(again) is optimizer_class
    assert {name: getattr(again, name) for name in settings} == settings
    unaccumulated = optimizer_class.from_config(again.get_config() | {"gradient_accumulation_steps": None})
    assert decayed_paths(unaccumulated, make_model(rng).trainable_variables) == DECAYED


SHAPES = {"kernel": (3, 4), "bias": (4,), "embeddings": (5, 3)}


def updates(optimizer, gradients, start):
    """Apply lists of gradients to variables that start as given; return their values after each, as float64."""
    variables = [keras.Variable(value, name=name, dtype="float32") for name, value in zip(SHAPES, start, strict=True)]
    after = []
    for step in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient.astype("float32")) for gradient in step], variables)
        after.append([to_numpy(variable.value).astype("float64") for variable in variables])
    return after


def draw(rng, scale, count):
    """Return start values with an embedding of zeros, and gradients whose global norm is sometimes above 1."""
    start = [rng.normal(size=shape) for shape in SHAPES.values()]
    start[2] *= 0
    gradients = [[rng.normal(size=shape) * scale for shape in SHAPES.values()] for _ in range(count)]
    return start, gradients


def assert_same_updates(found, expected):
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        for name, value, target in zip(SHAPES, one, other, strict=True):
            np.testing.assert_allclose(value, target, rtol=0, atol=3e-6, err_msg=f"{name} after update {number + 1}")


@pytest.mark.parametrize("scale", [3.0, 1e-5])  # Clipped by the norm; near epsilon, where its place matters.
def test_adamw_with_bias_correction_is_torchs(rng, scale):
    start, gradients = draw(rng, scale, count=6)
    theirs = [torch.nn.Parameter(torch.tensor(value)) for value in start]
    groups = [{"params": [theirs[0], theirs[2]], "weight_decay": 0.1}, {"params": [theirs[1]], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.999), eps=1e-6)
    expected = []
    for step in gradients:
        norm = np.sqrt(sum((gradient**2).sum() for gradient in step))
        for parameter, gradient in zip(theirs, step, strict=True):
            parameter.grad = torch.tensor(gradient / max(1.0, norm))
        optimizer.step()
        expected.append([parameter.detach().numpy().copy() for parameter in theirs])
    assert_same_updates(updates(BertAdamW(0.01, weight_decay=0.1), gradients, start), expected)


def by_formula(start, gradients, bias_correction, is_lamb):
    """Google's AdamWeightDecayOptimizer, or algorithm 2 of You et al., in float64: rate 0.01, decay 0.1."""
    weights = [value.copy() for value in start]
    m, v = ([np.zeros_like(value) for value in start] for _ in range(2))
    after = []
    for step, gradient in enumerate(gradients, start=1):
        norm = np.sqrt(sum((g**2).sum() for g in gradient))
        for i, name in enumerate(SHAPES):
            g = gradient[i] / max(1.0, norm)
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            scales = (1 - 0.9**step, 1 - 0.999**step) if bias_correction else (1, 1)
            update = m[i] / scales[0] / (np.sqrt(v[i] / scales[1]) + 1e-6)
            ratio = 1.0
            if name != "bias":
                update = update + 0.1 * weights[i]
                norms = np.linalg.norm(weights[i]), np.linalg.norm(update)
                if is_lamb and min(norms) > 0:
                    ratio = norms[0] / norms[1]
            weights[i] = weights[i] - 0.01 * ratio * update
        after.append([value.copy() for value in weights])
    return after


@pytest.mark.parametrize("scale", [3.0, 0.01])
@pytest.mark.parametrize(("optimizer_class", "bias_correction"), [(BertAdamW, False), (Lamb, True), (Lamb, False)])
def test_six_updates_follow_the_formula(rng, optimizer_class, bias_correction, scale):
    start, gradients = draw(rng, scale, count=6)
    optimizer = optimizer_class(0.01, weight_decay=0.1, bias_correction=bias_correction)
    expected = by_formula(start, gradients, bias_correction, is_lamb=optimizer_class is Lamb)
    assert_same_updates(updates(optimizer, gradients, start), expected)


@pytest.mark.parametrize("weight_decay", [None, 0.0])
def test_lamb_without_decay_keeps_its_ratio(rng, weight_decay):
    start, gradients = draw(rng, 0.1, count=1)
    after = updates(Lamb(0.01, weight_decay=weight_decay), gradients, start)[0]
    moved = [np.linalg.norm(value - before) for value, before in zip(after, start, strict=True)]
    assert moved[0] == pytest.approx(0.01 * np.linalg.norm(start[0]), rel=1e-4)
    # Adam's first step moves each weight by the rate.
    assert moved[1:] == pytest.approx([0.01 * 4**0.5, 0.01 * 15**0.5], rel=1e-3)


@pytest.mark.parametrize("optimizer_class", [BertAdamW, Lamb])
def test_an_accumulated_update_is_one_of_the_mean_gradient(rng, optimizer_class):
    """With a schedule, which counts updates: were it asked for batches, the third update would have the rate 0."""
    start, gradients = draw(rng, 1.0, count=9)
    means = [[sum(parts) / 3 for parts in zip(*gradients[i : i + 3], strict=True)] for i in (0, 3, 6)]
    schedule = WarmupLinearDecay(0.1, total_steps=5, warmup_steps=2)
    expected = updates(optimizer_class(schedule), means, start)
    found = updates(optimizer_class(schedule, gradient_accumulation_steps=3), gradients, start)
    for number, values in enumerate(found):
        done = (number + 1) // 3
        assert_same_updates([values], [expected[done - 1] if done else start])
    assert np.abs(expected[2][0] - expected[1][0]).max() > 0.01


def test_fit_accumulates_batches_to_one_of_all_their_rows(rng):
    """Three batches with equally many masked words each, against one: the same loss, so the same weights."""
    batch = make_batch(rng, batch=3 * B)
    batch[2]["mlm"][:] = 1
    config = BertConfig.named("1x64", vocabulary_size=29, dropout=0.0, attention_dropout=0.0)
    models = [BertPretrainer(BertBackbone(config)) for _ in range(2)]
    models[1].set_weights(models[0].get_weights())
    before = to_numpy(list(models[0].trainable_variables))
    for model, accumulate in zip(models, (None, 3), strict=True):
        schedule = WarmupLinearDecay(1e-3, total_steps=4)
        model.compile(BertAdamW(schedule, gradient_accumulation_steps=accumulate))
        rows = B if accumulate else 3 * B
        inputs, targets, weights = batch
        model.fit(inputs, targets, batch_size=rows, sample_weight=weights, epochs=2, shuffle=False, verbose=0)
        assert int(model.optimizer.iterations) == 2
    whole, accumulated = (to_numpy(list(model.trainable_variables)) for model in models)
    for variable, start, one, other in zip(models[0].trainable_variables, before, whole, accumulated, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-5, err_msg=variable.path)
        assert np.abs(one - start).max() > 5e-4 or variable.path.endswith("key/bias"), variable.path


@once
def test_rows_that_a_batch_names_twice_count_together_in_the_norm():
    import tensorflow as tf

    from kbert.tensorflow_kernels import scale_to_norm

    slices = tf.IndexedSlices(tf.constant([[3.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), tf.constant([1, 1, 0]), (3, 2))
    (table, none, bias), scale = scale_to_norm([slices, None, tf.constant([4.0])], 1.5)
    assert none is None  # The sum of row 1 is (4, 0), so the norm is sqrt(4**2 + 2**2 + 4**2) = 6.
    np.testing.assert_allclose(table, [[0.0, 2.0], [4.0, 0.0], [0.0, 0.0]])
    assert bias == [4.0] and float(scale) == pytest.approx(0.25)
    assert float(scale_to_norm([tf.constant([1.0])], 1.5)[1]) == 1.0


@once
def test_the_norm_of_gradients_of_several_dtypes():
    import tensorflow as tf

    from kbert.tensorflow_kernels import scale_to_norm

    gradients = [tf.constant([3.0]), tf.constant([4.0], tf.bfloat16), tf.constant([300.0] * 4, tf.float16)]
    assert float(scale_to_norm(gradients, 1.0)[1]) == pytest.approx(1 / np.sqrt(9 + 16 + 4 * 300**2))
    variables = [keras.Variable(np.ones(1, "float32"), dtype=dtype) for dtype in ("float32", "bfloat16")]
    BertAdamW(0.5, weight_decay=0.0).apply(gradients[:2], variables)
    np.testing.assert_allclose([float(variable.value[0]) for variable in variables], 0.5, rtol=1e-2)


@once
def test_no_step_is_compiled_where_there_is_a_gpu(monkeypatch):
    import tensorflow as tf

    from kbert import tensorflow_kernels

    def apply(optimizer, variable, gradient):
        optimizer.apply([gradient], [variable])

    monkeypatch.setattr(tensorflow_kernels, "has_gpu", lambda: True)
    for dtype, size in (("bfloat16", 4), ("float32", 2**16)):
        variable = keras.Variable(np.ones(size), dtype=dtype)
        optimizer = BertAdamW(0.5, weight_decay=0.0)
        optimizer.build([variable])
        step = tf.function(functools.partial(apply, optimizer, variable))
        graph = step.get_concrete_function(tf.ones([size], dtype)).graph.as_graph_def(add_shapes=False)
        assert "_XlaMustCompile" not in str(graph)
        step(tf.ones([size], dtype))
        np.testing.assert_allclose(float(variable.value[0]), 0.5, rtol=1e-2)


def test_large_and_small_variables_take_the_same_steps(rng):
    # 2**16 numbers and more take TensorFlow's compiled step.
    rows = rng.normal(size=(300, 256)).astype("float32")
    gradients = rng.normal(size=(3, 300, 256)).astype("float32")
    whole = keras.Variable(rows, name="kernel")
    parts = [keras.Variable(rows[start : start + 100], name="kernel") for start in (0, 100, 200)]
    together, apart = BertAdamW(0.01, weight_decay=0.1), BertAdamW(0.01, weight_decay=0.1)
    for gradient in gradients:
        together.apply([keras.ops.convert_to_tensor(gradient)], [whole])
        apart.apply([keras.ops.convert_to_tensor(gradient[start : start + 100]) for start in (0, 100, 200)], parts)
    pieces = np.concatenate([to_numpy(part.value) for part in parts])
    np.testing.assert_allclose(to_numpy(whole.value), pieces, rtol=0, atol=2e-6)
    assert np.abs(pieces - rows).max() > 0.02


@pytest.mark.parametrize("shape", [(4, 8), (300, 256)])
def test_weights_in_half_precision_move_as_the_formula_says(rng, shape):
    rows, gradient = rng.normal(size=(2, *shape)).astype("float32")
    gradient = np.sign(gradient) * (1 + np.abs(gradient))
    gradient[0] = 0.0  # As that of a token which no row holds.
    variable = keras.Variable(rows, dtype="bfloat16", name="kernel")
    start = to_numpy(keras.ops.cast(variable.value, "float32"))
    optimizer = BertAdamW(0.125, weight_decay=0.0, global_clipnorm=None)
    for _ in range(2):
        optimizer.apply([keras.ops.cast(gradient, "bfloat16")], [variable])
    moved = to_numpy(keras.ops.cast(variable.value, "float32")) - start
    np.testing.assert_array_equal(moved[0], 0.0)
    np.testing.assert_allclose(moved[1:], -0.25 * np.sign(gradient[1:]), atol=0.04)  # Adam's steps are all alike.


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_no_number_shows(bad):
    variable = keras.Variable(np.ones(3, "float32"), name="kernel")
    optimizer = BertAdamW(0.01)
    optimizer.apply([keras.ops.convert_to_tensor(np.array([bad, 1, 1], "float32"))], [variable])
    assert np.isnan(to_numpy(variable.value)).all()


def test_the_callers_gradients_stay_as_they_are():
    gradient = keras.ops.convert_to_tensor(np.full((4, 4), 3.0, "float32"))  # Its norm is 12, so it is clipped.
    BertAdamW(0.01).apply([gradient], [keras.Variable(np.ones((4, 4), "float32"), name="kernel")])
    np.testing.assert_array_equal(to_numpy(gradient), np.full((4, 4), 3.0))

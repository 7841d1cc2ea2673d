"""What holds for every layer and model, whatever its weights."""

import inspect

import keras
import numpy as np
import pytest
from conftest import CONFIG, B, P, T, backbone_inputs, make_batch, make_model, randomise, to_numpy

import kbert.layers
import kbert.models
from kbert.config import BertConfig
from kbert.layers import BertEmbeddings, DenseHead, EncoderBlock, MaskedLMHead, NextSentenceHead, Pooler, SelfAttention
from kbert.models import BertBackbone, BertPretrainer
from kbert.optimization import BertAdamW

V, D, N, F, S, L = 29, 12, 3, 20, 11, 2  # As in CONFIG.
DENSE = D * D + D
BLOCK = 4 * DENSE + 2 * D * F + F + D + 4 * D
TABLE = {"class_name": "Embedding", "config": {"input_dim": V, "output_dim": D}}


def token_ids(rng):
    return rng.integers(0, V, (B, T)).astype("int32")


def states(rng):
    return rng.normal(size=(B, T, D)).astype("float32")


def padding_mask(rng):
    return make_batch(rng)[0]["padding_mask"]


def masked_lm_head():
    table = keras.layers.Embedding(V, D)
    table.build((None,))
    return MaskedLMHead(table)


# Name -> (builder, inputs, output shape, number of weights).
LAYERS = {
    "BertEmbeddings": (
        lambda: BertEmbeddings(V, D, S),
        lambda rng: (token_ids(rng), make_batch(rng)[0]["segment_ids"]),
        (B, T, D),
        (V + 2 + S) * D + 2 * D,
    ),
    "SelfAttention": (lambda: SelfAttention(N, D), lambda rng: (states(rng), padding_mask(rng)), (B, T, D), 4 * DENSE),
    "EncoderBlock": (lambda: EncoderBlock(N, D, F), lambda rng: (states(rng), padding_mask(rng)), (B, T, D), BLOCK),
    "Pooler": (lambda: Pooler(D), lambda rng: (states(rng),), (B, D), DENSE),
    "MaskedLMHead": (
        masked_lm_head,
        lambda rng: (states(rng), rng.integers(0, T, (B, P)).astype("int32")),
        (B, P, V),
        V * D + DENSE + 2 * D + V,
    ),
    "DenseHead": (lambda: DenseHead(5), lambda rng: (states(rng),), (B, T, 5), 5 * D + 5),
    "NextSentenceHead": (NextSentenceHead, lambda rng: (states(rng)[:, 0],), (B, 2), 2 * D + 2),
}


def test_the_table_is_complete():
    assert set(LAYERS) == set(kbert.layers.__all__)
    in_test_heads = {"BertClassifier", "BertMultipleChoice", "BertSpanFinder", "BertTagger"}
    assert {"BertBackbone", "BertPretrainer"} | in_test_heads == set(kbert.models.__all__)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_shapes_weights_and_config(rng, name):
    build, make_inputs, shape, num_weights = LAYERS[name]
    layer, inputs = build(), make_inputs(rng)
    output = layer(*inputs)
    assert tuple(output.shape) == shape
    assert layer.count_params() == num_weights
    randomise(layer, rng)
    symbolic = layer(*(keras.Input(x.shape[1:], dtype=x.dtype.name) for x in inputs))
    assert symbolic.shape[1:] == shape[1:]
    again = type(layer).from_config(layer.get_config())
    again(*inputs)
    for mine, copy in zip(again.weights, layer.weights, strict=True):
        mine.assign(copy)
    np.testing.assert_array_equal(to_numpy(again(*inputs)), to_numpy(layer(*inputs)))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_layers_compute_in_the_precision_asked_for(rng, name, precision):
    keras.config.set_dtype_policy(precision)
    try:
        layer = LAYERS[name][0]()
        output = (
            layer(*LAYERS[name][1](rng), training=True)
            if "training" in inspect.signature(layer.call).parameters
            else layer(*LAYERS[name][1](rng))
        )
    finally:
        keras.config.set_dtype_policy("float32")
    is_head = name.endswith("Head")  # Logits are float32, for the loss.
    assert keras.backend.standardize_dtype(output.dtype) == ("float32" if is_head else precision.removeprefix("mixed_"))
    assert np.isfinite(to_numpy(output)).all()
    assert {keras.backend.standardize_dtype(weight.dtype) for weight in layer.trainable_weights} == {"float32"}


def test_attention_paths_agree_and_ignore_padding(rng):
    layer = SelfAttention(N, D)
    hidden, mask = states(rng), padding_mask(rng)
    mask[0, 5:] = 0
    fused = to_numpy(layer(hidden, mask))
    output, maps = to_numpy(layer(hidden, mask, return_attention_maps=True))
    randomise(layer, rng)
    fused = to_numpy(layer(hidden, mask))
    output, maps = to_numpy(layer(hidden, mask, return_attention_maps=True))
    np.testing.assert_allclose(fused, output, atol=1e-5)
    np.testing.assert_allclose(maps.sum(-1), 1, atol=1e-5)
    assert maps.shape == (B, N, T, T)
    assert (maps * (1 - mask)[:, None, None, :]).max() < 1e-30
    assert to_numpy(layer(hidden, mask, return_attention_maps=True, training=True)[1]) == pytest.approx(maps, abs=1e-6)


def test_too_long_is_refused_with_both_numbers(rng):
    ids = np.zeros((B, S + 1), "int32")
    with pytest.raises(ValueError, match="12 tokens, max_sequence_length=11"):
        BertEmbeddings(V, D, S)(ids, ids)


@pytest.mark.parametrize(
    ("size", "backbone", "both_heads"),
    [("tiny", 4_385_920, None), ("base", 109_482_240, 110_106_428), ("large", 335_141_888, None)],
)
def test_published_parameter_counts(size, backbone, both_heads):
    config = BertConfig.named(size)

    def formula(v, d, f, layers, s=512):
        block = 4 * (d * d + d) + 2 * d * f + f + d + 4 * d
        encoder = (v + 2 + s) * d + 2 * d + layers * block + d * d + d
        return encoder, encoder + d * d + d + 2 * d + v + 2 * d + 2

    sizes = (config.vocabulary_size, config.hidden_dim, config.intermediate_dim, config.num_layers)
    assert formula(*sizes)[0] == backbone
    if both_heads:
        assert formula(*sizes)[1] == both_heads
    if size == "tiny":  # The formula is the built model's; building the large one would take 1.3 GB.
        model = BertPretrainer(BertBackbone(config))
        assert (model.backbone.count_params(), model.count_params()) == formula(*sizes)
        assert make_model(np.random.default_rng(0)).count_params() == formula(V, D, F, L, S)[1]


def test_model_lengths_rows_and_padding_are_independent(rng):
    model = make_model(rng)
    inputs, _, _ = make_batch(rng, batch=3, length=9)
    inputs["padding_mask"][:] = np.arange(9) < np.array([[9], [6], [5]])
    together = to_numpy(model.predict_on_batch(inputs))
    for row in range(3):
        used = int(inputs["padding_mask"][row].sum())
        alone = {name: value[row : row + 1, :used] for name, value in backbone_inputs(inputs).items()}
        alone["mask_positions"] = inputs["mask_positions"][row : row + 1]
        for name, value in to_numpy(model.predict_on_batch(alone)).items():
            np.testing.assert_allclose(value[0], together[name][row], atol=1e-5)
    changed = {name: value.copy() for name, value in inputs.items()}
    changed["token_ids"][inputs["padding_mask"] == 0] = 3
    changed["segment_ids"][inputs["padding_mask"] == 0] = 1
    for name, value in to_numpy(model.predict_on_batch(changed)).items():
        np.testing.assert_allclose(value, together[name], atol=1e-6)


def test_intermediates_begin_with_the_embeddings_and_end_with_the_output(rng):
    model = make_model(rng)
    inputs = backbone_inputs(make_batch(rng)[0])
    inside = to_numpy(model.backbone.with_intermediates().predict_on_batch(inputs))
    outputs = to_numpy(model.backbone(inputs))
    assert len(inside["hidden_states"]) == L + 1 and len(inside["attention_maps"]) == L
    embedded = to_numpy(model.backbone.embeddings(inputs["token_ids"], inputs["segment_ids"]))
    np.testing.assert_allclose(inside["hidden_states"][0], embedded, atol=1e-6)
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(inside[name], outputs[name], atol=1e-5)


def test_inference_repeats_and_training_without_dropout_is_inference(rng):
    inputs, _, _ = make_batch(rng)
    model = make_model(rng)
    first, second = (to_numpy(model(inputs, training=False))["mlm"] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert np.abs(to_numpy(model(inputs, training=True))["mlm"] - first).max() > 1e-3
    calm = BertPretrainer(BertBackbone(CONFIG.replace(dropout=0.0, attention_dropout=0.0)))
    for mine, other in zip(calm.trainable_variables, model.trainable_variables, strict=True):
        mine.assign(other)
    np.testing.assert_allclose(to_numpy(calm(inputs, training=True))["mlm"], first, atol=1e-5)


def test_save_and_load_keep_config_numbers_and_optimiser(rng, tmp_path):
    config = CONFIG.replace(dropout=0.0, attention_dropout=0.0)
    model = make_model(rng, config)
    model.compile(BertAdamW(1e-3))
    inputs, targets, weights = make_batch(rng)
    model.fit(inputs, targets, sample_weight=weights, batch_size=B, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.backbone.config == config
    assert int(again.optimizer.iterations) == 1
    for name, value in to_numpy(model(inputs)).items():
        np.testing.assert_array_equal(value, to_numpy(again(inputs))[name])
    # The next step, with the optimiser's moments, is the same too.
    results = [one.train_on_batch(inputs, targets, weights, return_dict=True)["loss"] for one in (model, again)]
    assert float(results[0]) == pytest.approx(float(results[1]), rel=1e-5)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("precision", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_one_step_moves_every_weight_in_each_precision(rng, precision, jit_compile):
    if jit_compile and keras.backend.backend() == "torch":
        pytest.skip("torch.compile needs a minute for this; kbert never turns it on by itself")
    model = make_model(rng, CONFIG.replace(dropout=0.1), dtype=precision)
    before = to_numpy([variable.value for variable in model.trainable_variables])
    model.compile(BertAdamW(0.05), jit_compile=jit_compile)
    inputs, targets, weights = make_batch(rng)
    inputs["segment_ids"][0, :2] = 0, 1  # Both rows of the segment table.
    for _ in range(3):  # A first float16 step may be skipped while the loss scale settles.
        logs = model.train_on_batch(inputs, targets, weights, return_dict=True)
    assert np.isfinite(float(logs["loss"]))
    for variable, old in zip(model.trainable_variables, before, strict=True):
        if variable.path.endswith("attention/key/bias"):  # Softmax cancels it: its gradient is rounding.
            continue
        assert np.abs(to_numpy(variable.value) - old).max() > 1e-3, variable.path


def test_jit_compile_changes_nothing_but_speed(rng):
    if keras.backend.backend() == "torch":
        pytest.skip("torch.compile needs a minute for this; kbert never turns it on by itself")
    inputs, targets, weights = make_batch(rng)
    results = []
    for jit_compile in (False, True):
        model = make_model(np.random.default_rng(1))
        model.compile(BertAdamW(1e-3), jit_compile=jit_compile)
        results.append(model.test_on_batch(inputs, targets, weights, return_dict=True))
    for name in results[0]:
        assert float(results[0][name]) == pytest.approx(float(results[1][name]), rel=1e-5), name


def test_one_batch_can_be_learnt_by_heart():
    rng = np.random.default_rng(4)
    keras.utils.set_random_seed(0)
    model = BertPretrainer(BertBackbone(CONFIG.replace(dropout=0.0, attention_dropout=0.0, hidden_dim=24)))
    model.compile(BertAdamW(1e-2))
    inputs, targets, weights = make_batch(rng, batch=4)
    inputs["mask_positions"] = np.tile(np.arange(P), (4, 1)).astype("int32")
    for _ in range(150):
        logs = model.train_on_batch(inputs, targets, weights, return_dict=True)
    assert float(logs["mlm_loss"]) < 0.1 and float(logs["nsp_loss"]) < 0.1

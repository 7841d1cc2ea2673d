"""What holds for every layer and model, whatever its weights."""

import inspect

import keras
import numpy as np
import pytest
from catalog import LAYERS, D, F, L, N, S, V, bert_parameters, holed_mask, states
from conftest import CONFIG, B, P, T, backbone_inputs, make_batch, make_model, randomise, to_numpy

import kbert.layers
import kbert.models
from kbert.config import BertConfig
from kbert.layers import BertEmbeddings, EncoderBlock, SelfAttention
from kbert.models import BertBackbone, BertClassifier, BertPretrainer
from kbert.optimization import BertAdamW, WarmupLinearDecay


def test_the_table_is_complete():
    assert set(LAYERS) == set(kbert.layers.__all__)
    in_test_heads = {"BertClassifier", "BertMultipleChoice", "BertSpanFinder", "BertTagger"}
    assert {"BertBackbone", "BertPretrainer"} | in_test_heads == set(kbert.models.__all__)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_shapes_and_weights(rng, name):
    row = LAYERS[name]
    layer, inputs = row.build(), row.inputs(rng)
    symbolic = layer(*(keras.Input(batch_shape=x.shape, dtype=x.dtype.name) for x in inputs))
    output = layer(*inputs)
    assert tuple(output.shape) == symbolic.shape == row.output_shape
    assert keras.backend.standardize_dtype(output.dtype) == symbolic.dtype
    assert layer.count_params() == row.parameters


@pytest.mark.parametrize("name", LAYERS)
def test_layer_config_holds_every_argument(rng, name):
    layer, inputs = LAYERS[name].build(), LAYERS[name].inputs(rng)
    layer(*inputs)
    randomise(layer, rng)
    config = layer.get_config()
    for argument in inspect.signature(type(layer)).parameters.values():
        if argument.kind is not inspect.Parameter.VAR_KEYWORD:
            assert config[argument.name] != argument.default, argument.name
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == config
    again(*inputs)
    for mine, copy in zip(again.weights, layer.weights, strict=True):
        mine.assign(copy)
    np.testing.assert_array_equal(to_numpy(again(*inputs)), to_numpy(layer(*inputs)))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_layers_compute_in_the_precision_asked_for(rng, name, precision):
    keras.config.set_dtype_policy(precision)
    try:
        layer = LAYERS[name].build()
        training = {"training": True} if "training" in inspect.signature(layer.call).parameters else {}
        output = layer(*LAYERS[name].inputs(rng), **training)
    finally:
        keras.config.set_dtype_policy("float32")
    is_head = name.endswith("Head")  # Logits are float32, for the loss.
    assert keras.backend.standardize_dtype(output.dtype) == ("float32" if is_head else precision.removeprefix("mixed_"))
    assert np.isfinite(to_numpy(output)).all()
    dtypes = {keras.backend.standardize_dtype(weight.dtype) for weight in layer.trainable_weights}
    assert dtypes == ({"float32"} if LAYERS[name].parameters else set())


def test_attention_paths_agree_and_ignore_padding(rng):
    layer = SelfAttention(N, D)
    hidden, mask = states(rng), holed_mask(rng)
    layer.build(hidden.shape)
    randomise(layer, rng)
    fused = to_numpy(layer(hidden, mask))
    output, maps = to_numpy(layer(hidden, mask, return_attention_maps=True))
    np.testing.assert_allclose(fused, output, atol=1e-5)
    np.testing.assert_allclose(maps.sum(-1), 1, atol=1e-5)
    assert maps.shape == (B, N, T, T)
    assert (maps[:-1] * (1 - mask)[:-1, None, None, :]).max() < 1e-30
    assert np.isfinite(output[-1]).all()  # Nothing but padding.
    assert to_numpy(layer(hidden, mask, return_attention_maps=True, training=True)[1]) == pytest.approx(maps, abs=1e-6)


def test_the_config_reaches_every_layer():
    keras.utils.set_random_seed(0)
    config = BertConfig(V, L, N, D, F, S, 5, 0.2, 0.3, "gelu_tanh", 1e-3, 0.5, True)
    assert not {value for value in config.to_dict().values()} & {
        512,
        0.1,
        "gelu_erf",
        1e-12,
        0.02,
        False,
    }  # No default.
    model = BertPretrainer(BertBackbone(config))
    head = BertClassifier(model.backbone, 5).classifier_head
    layers = [layer for layer in (*model.backbone.layers, *model.layers, head) if type(layer).__name__ in LAYERS]
    assert {type(layer).__name__ for layer in layers} == set(LAYERS) - {"SelfAttention"}
    expected = config.to_dict()
    for layer in (*layers, *(block.attention for block in model.backbone.blocks)):
        for name, value in layer.get_config().items():
            assert value == expected.get(name, value), f"{layer.path}: {name}"
    for block in model.backbone.blocks:
        assert (block.dropout.rate, block.attention.dropout.rate) == (0.2, 0.3)
    for variable in (
        *model.trainable_variables,
        *head.trainable_variables,
    ):  # Fresh weights: truncated at two deviations, so 0.88 of one is left.
        values = to_numpy(variable.value)
        if variable.name in ("gamma", "beta", "bias"):
            assert (values == (variable.name == "gamma")).all(), variable.path
        else:
            assert np.abs(values).max() <= 2 * 0.5, variable.path
            assert values.std() == pytest.approx(0.88 * 0.5, rel=4 / np.sqrt(2 * values.size)), variable.path


def test_too_long_is_refused_with_both_numbers(rng):
    ids = np.zeros((B, S + 1), "int32")
    message = "12 tokens, max_sequence_length=11"
    with pytest.raises(ValueError, match=message):
        BertEmbeddings(V, D, S)(ids, ids)
    with pytest.raises(ValueError, match=message):
        make_model(rng).predict_on_batch(make_batch(rng, length=S + 1)[0])


@pytest.mark.parametrize(
    ("size", "backbone", "both_heads"),
    [("tiny", 4_385_920, None), ("base", 109_482_240, 110_106_428), ("large", 335_141_888, None)],
)
def test_published_parameter_counts(size, backbone, both_heads):
    config = BertConfig.named(size)
    expected = bert_parameters(30522, config.hidden_dim, config.intermediate_dim, config.num_layers, 512)
    assert expected[0] == backbone
    if both_heads:
        assert expected[1] == both_heads
    if size == "tiny":  # The formula is the built model's; building the large one would take 1.3 GB.
        model = BertPretrainer(BertBackbone(config))
        assert (model.backbone.count_params(), model.count_params()) == expected
        assert make_model(np.random.default_rng(0)).count_params() == bert_parameters(V, D, F, L, S)[1]


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
    for dropout, attention_dropout in ((0.0, 0.0), (0.2, 0.0), (0.0, 0.3)):
        other = BertPretrainer(BertBackbone(CONFIG.replace(dropout=dropout, attention_dropout=attention_dropout)))
        for mine, value in zip(other.trainable_variables, model.trainable_variables, strict=True):
            mine.assign(value)
        change = np.abs(to_numpy(other(inputs, training=True))["mlm"] - first).max()
        assert change > 1e-3 if dropout or attention_dropout else change < 1e-5


def test_dropout_comes_after_the_norm_of_the_embeddings(rng):
    layer = BertEmbeddings(V, D, 11, dropout=0.5)
    token_ids, segment_ids = rng.integers(0, V, (4, T)), rng.integers(0, 2, (4, T))
    layer(token_ids, segment_ids)
    randomise(layer, rng)
    whole = to_numpy(layer(token_ids, segment_ids))
    dropped = to_numpy(layer(token_ids, segment_ids, training=True))
    is_zero = dropped == 0
    assert 0.3 < is_zero.mean() < 0.7
    np.testing.assert_allclose(dropped[~is_zero], 2 * whole[~is_zero], rtol=1e-5)


def test_dropout_leaves_what_goes_round_a_sublayer(rng):
    layer = EncoderBlock(N, D, F, dropout=0.5, attention_dropout=0.5)
    inputs = states(rng), holed_mask(rng)
    layer(*inputs)
    randomise(layer, rng)
    for dense in (layer.feed_forward, layer.attention.projection):
        for variable in dense.weights:
            variable.assign(0 * variable)  # Only what goes round them is left.
    np.testing.assert_allclose(to_numpy(layer(*inputs, training=True)), to_numpy(layer(*inputs)), atol=1e-6)


@pytest.mark.parametrize("sublayer", ["attention", "feed_forward"])
def test_dropout_acts_on_each_sublayer(rng, sublayer):
    layer = EncoderBlock(N, D, F, dropout=0.5, attention_dropout=0.0)
    inputs = states(rng), holed_mask(rng)
    layer(*inputs)
    randomise(layer, rng)
    for variable in (layer.feed_forward if sublayer == "attention" else layer.attention.projection).weights:
        variable.assign(0 * variable)  # The other sublayer adds nothing: what changes comes from this one.
    assert np.abs(to_numpy(layer(*inputs, training=True)) - to_numpy(layer(*inputs))).max() > 1e-2


def test_save_and_load_keep_config_numbers_and_optimiser(rng, tmp_path):
    config = CONFIG.replace(dropout=0.0, attention_dropout=0.0)
    model = make_model(rng, config)
    # So much decay that an exclusion lost on the way would show, and a rate that depends on the step.
    model.compile(BertAdamW(WarmupLinearDecay(1e-2, total_steps=50, warmup_steps=10), weight_decay=0.5))
    inputs, targets, weights = make_batch(rng)
    model.fit(inputs, targets, sample_weight=weights, batch_size=B, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.backbone.config == config
    assert int(again.optimizer.iterations) == 1
    for name, value in to_numpy(model(inputs)).items():
        np.testing.assert_array_equal(value, to_numpy(again(inputs))[name])
    # The next step, with the optimiser's moments, is the same too.
    for one in (model, again):
        one.train_on_batch(inputs, targets, weights)
    for ours, theirs in zip(model.trainable_variables, again.trainable_variables, strict=True):
        if not ours.path.endswith("attention/key/bias"):  # Its gradient is rounding, which Adam blows up.
            np.testing.assert_allclose(to_numpy(ours.value), to_numpy(theirs.value), atol=1e-6, err_msg=ours.path)


@pytest.mark.parametrize("freeze", ["all", "all but a block", "embeddings and a block"])
def test_save_and_load_keep_what_is_frozen(rng, tmp_path, freeze):
    model = make_model(rng, CONFIG)
    if freeze.startswith("all"):
        model.backbone.trainable = False
        model.backbone.blocks[-1].trainable = freeze != "all"
    else:
        model.backbone.embeddings.trainable = model.backbone.blocks[0].trainable = False
    model.compile(BertAdamW(1e-2))
    inputs, targets, weights = make_batch(rng)
    model.train_on_batch(inputs, targets, weights)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    names = {variable.path for variable in model.trainable_variables}
    assert {variable.path for variable in again.trainable_variables} == names
    assert names and not any("embeddings/" in name for name in names)
    assert int(again.optimizer.iterations) == 1 and len(again.optimizer.variables) == len(model.optimizer.variables)
    backbone = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(model.backbone))
    assert len(backbone.trainable_variables) == len(model.backbone.trainable_variables)


@pytest.mark.parametrize(("asked", "kept"), [(None, None), (True, True), (False, False)])
def test_jit_compile_is_chosen_anew_where_a_model_is_loaded(rng, asked, kept):
    model = make_model(rng, CONFIG)
    model.compile(jit_compile=asked)
    config = model.get_compile_config()
    assert config["jit_compile"] is kept
    again = make_model(rng, CONFIG)
    again.compile_from_config(config)
    assert again.jit_compile is (keras.backend.backend() == "jax" if asked is None else asked)


# XLA for one precision that scales the loss and one that does not: it compiles the same graph as without.
@pytest.mark.parametrize(
    ("precision", "jit_compile"), [("float32", True), ("mixed_bfloat16", False), ("mixed_float16", True)]
)
def test_one_step_moves_every_weight_in_each_precision(rng, precision, jit_compile):
    if keras.backend.backend() == "torch":
        jit_compile = False  # torch.compile needs a minute for this; kbert never turns it on by itself.
    if keras.backend.backend() == "jax":
        jit_compile = True  # As Keras does by itself: each operation alone would be compiled in half a minute.
    model = make_model(rng, CONFIG.replace(dropout=0.1), dtype=precision)
    before = to_numpy([variable.value for variable in model.trainable_variables])
    model.compile(
        BertAdamW(0.05, weight_decay=0.0), jit_compile=jit_compile
    )  # Decay would move what nothing else does.
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
    model.compile(BertAdamW(2e-2))
    inputs, targets, weights = make_batch(rng, batch=4)
    inputs["mask_positions"] = np.tile(np.arange(P), (4, 1)).astype("int32")
    for _ in range(30):
        logs = model.train_on_batch(inputs, targets, weights, return_dict=True)
    assert float(logs["mlm_loss"]) < 0.1 and float(logs["nsp_loss"]) < 0.1

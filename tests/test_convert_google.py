"""Google's TF1 checkpoints: a fixture with TF1's names, written by TensorFlow from known weights."""

import json

import keras
import numpy as np
import pytest
import transformers
from hugging_face_models import SIZES, TOKENS, ask_hugging_face, hugging_face_model, random_inputs

from kbert.cli import main
from kbert.convert import load
from kbert.convert.google import _newest_prefix
from kbert.text.vocabulary import write_vocabulary

tf = pytest.importorskip("tensorflow")

# Written out by hand, from google-research/bert modeling.py, run_pretraining.py, run_classifier.py and run_squad.py.
ENCODER = {
    "bert/embeddings/word_embeddings": "bert.embeddings.word_embeddings.weight",
    "bert/embeddings/position_embeddings": "bert.embeddings.position_embeddings.weight",
    "bert/embeddings/token_type_embeddings": "bert.embeddings.token_type_embeddings.weight",
    "bert/embeddings/LayerNorm/gamma": "bert.embeddings.LayerNorm.weight",
    "bert/embeddings/LayerNorm/beta": "bert.embeddings.LayerNorm.bias",
    "bert/pooler/dense/kernel": "bert.pooler.dense.weight",
    "bert/pooler/dense/bias": "bert.pooler.dense.bias",
}
BLOCK = {
    "attention/self/query/kernel": "attention.self.query.weight",
    "attention/self/query/bias": "attention.self.query.bias",
    "attention/self/key/kernel": "attention.self.key.weight",
    "attention/self/key/bias": "attention.self.key.bias",
    "attention/self/value/kernel": "attention.self.value.weight",
    "attention/self/value/bias": "attention.self.value.bias",
    "attention/output/dense/kernel": "attention.output.dense.weight",
    "attention/output/dense/bias": "attention.output.dense.bias",
    "attention/output/LayerNorm/gamma": "attention.output.LayerNorm.weight",
    "attention/output/LayerNorm/beta": "attention.output.LayerNorm.bias",
    "intermediate/dense/kernel": "intermediate.dense.weight",
    "intermediate/dense/bias": "intermediate.dense.bias",
    "output/dense/kernel": "output.dense.weight",
    "output/dense/bias": "output.dense.bias",
    "output/LayerNorm/gamma": "output.LayerNorm.weight",
    "output/LayerNorm/beta": "output.LayerNorm.bias",
}
PRETRAINING = {
    "cls/predictions/transform/dense/kernel": "cls.predictions.transform.dense.weight",
    "cls/predictions/transform/dense/bias": "cls.predictions.transform.dense.bias",
    "cls/predictions/transform/LayerNorm/gamma": "cls.predictions.transform.LayerNorm.weight",
    "cls/predictions/transform/LayerNorm/beta": "cls.predictions.transform.LayerNorm.bias",
    "cls/predictions/output_bias": "cls.predictions.bias",
    "cls/seq_relationship/output_weights": "cls.seq_relationship.weight",
    "cls/seq_relationship/output_bias": "cls.seq_relationship.bias",
}
HEADS = {
    "BertForPreTraining": PRETRAINING,
    "BertForSequenceClassification": {"output_weights": "classifier.weight", "output_bias": "classifier.bias"},
    "BertForQuestionAnswering": {
        "cls/squad/output_weights": "qa_outputs.weight",
        "cls/squad/output_bias": "qa_outputs.bias",
    },
}
CONFIG = {
    "attention_probs_dropout_prob": 0.1,
    "directionality": "bidi",
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "initializer_range": 0.02,
    "type_vocab_size": 2,
} | SIZES


def tensors_of(architecture, model):
    names = ENCODER | HEADS[architecture]
    for layer in range(SIZES["num_hidden_layers"]):
        for google, theirs in BLOCK.items():
            names[f"bert/encoder/layer_{layer}/{google}"] = f"bert.encoder.layer.{layer}.{theirs}"
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    if architecture == "BertForQuestionAnswering":  # Google's has a pooler, which no head reads.
        state["bert.pooler.dense.weight"] = np.zeros((12, 12), "float32")
        state["bert.pooler.dense.bias"] = np.zeros(12, "float32")
    return {
        google: state[theirs].T if google.endswith("/kernel") else state[theirs] for google, theirs in names.items()
    }


def write_folder(folder, tensors, config=CONFIG):
    folder.mkdir(exist_ok=True)
    (folder / "bert_config.json").write_text(json.dumps(config))
    write_vocabulary(TOKENS, folder / "vocab.txt")
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = []
        for name, value in tensors.items():
            variables.append(tf.compat.v1.get_variable(name, initializer=value, use_resource=False))
            for slot in ("adam_m", "adam_v"):
                slot_name = f"{name}/{slot}"
                variables.append(tf.compat.v1.get_variable(slot_name, initializer=0 * value + 7, use_resource=False))
        step = tf.compat.v1.get_variable("global_step", initializer=np.int64(3), use_resource=False)
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver([*variables, step]).save(session, str(folder / "bert_model.ckpt"))
    return folder


@pytest.mark.parametrize("architecture", HEADS)
def test_same_answers_as_the_known_weights(architecture, tmp_path):
    # "gelu_new" is transformers' name of the tanh form, which is what Google's code calls "gelu".
    theirs = hugging_face_model(architecture, hidden_act="gelu_new", num_labels=2)
    checkpoint = load(write_folder(tmp_path / "google", tensors_of(architecture, theirs)))
    assert checkpoint.model.backbone.config.activation == "gelu_tanh"
    assert checkpoint.missing_parts == (() if architecture == "BertForPreTraining" else ("mlm", "nsp"))
    inputs = random_inputs(3, 7)
    wanted = ask_hugging_face(theirs, inputs)
    positions = {"mask_positions": np.tile(np.arange(7, dtype="int32"), (3, 1))}
    is_pretrainer = architecture == "BertForPreTraining"
    ours = checkpoint.model(inputs | positions if is_pretrainer else inputs)
    pairs = {
        "BertForPreTraining": {"mlm": "prediction_logits", "nsp": "seq_relationship_logits"},
        "BertForSequenceClassification": {"logits": "logits"},
        "BertForQuestionAnswering": {"start": "start_logits", "end": "end_logits"},
    }[architecture]
    for our_name, their_name in pairs.items():
        answer = keras.ops.convert_to_numpy(ours[our_name])
        np.testing.assert_allclose(answer, wanted[their_name].numpy(), atol=1e-5, rtol=1e-5)


def test_of_several_checkpoints_the_newest_is_read_whatever_their_times(tmp_path):
    for steps in (9000, 10000, 2000):
        for suffix in (".index", ".data-00000-of-00001", ".meta"):
            (tmp_path / f"model.ckpt-{steps}{suffix}").touch()
    assert _newest_prefix(tmp_path).name == "model.ckpt-10000"
    (tmp_path / "checkpoint").write_text(
        'model_checkpoint_path: "/elsewhere/out/model.ckpt-9000"\nall_model_checkpoint_paths: "model.ckpt-2000"\n'
    )
    assert _newest_prefix(tmp_path).name == "model.ckpt-9000"
    (tmp_path / "model.ckpt-9000.index").unlink()  # The note is older than the folder.
    assert _newest_prefix(tmp_path).name == "model.ckpt-10000"


def test_converted_by_command_it_opens_in_transformers(tmp_path, capsys):
    known = hugging_face_model("BertForPreTraining", hidden_act="gelu_new")
    folder = write_folder(tmp_path / "google", tensors_of("BertForPreTraining", known))
    assert main(["convert", str(folder), str(tmp_path / "ours")]) == 0, capsys.readouterr().err
    again, report = transformers.BertForPreTraining.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    for name, value in known.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[name].numpy(), value.numpy())
    inputs = random_inputs(3, 7)
    one, other = (ask_hugging_face(model.eval(), inputs) for model in (known, again))
    for name in ("prediction_logits", "seq_relationship_logits"):
        np.testing.assert_array_equal(one[name].numpy(), other[name].numpy())


def test_activation_can_be_chosen(tmp_path):
    theirs = hugging_face_model("BertForPreTraining")
    folder = write_folder(tmp_path / "google", tensors_of("BertForPreTraining", theirs))
    inputs = random_inputs(3, 7)
    wanted = ask_hugging_face(theirs.bert, inputs).last_hidden_state.numpy()
    ours = load(folder, activation="gelu_erf").model.backbone(inputs)["sequence_output"]
    np.testing.assert_allclose(keras.ops.convert_to_numpy(ours), wanted, atol=1e-5, rtol=1e-5)
    other = load(folder).model.backbone(inputs)["sequence_output"]
    assert np.abs(keras.ops.convert_to_numpy(other) - wanted).max() > 1e-4


def test_missing_and_damaged_files_are_named(tmp_path):
    tensors = tensors_of("BertForPreTraining", hugging_face_model("BertForPreTraining"))
    del tensors["bert/encoder/layer_1/output/dense/bias"]
    folder = write_folder(tmp_path / "google", tensors)
    with pytest.raises(ValueError, match=r"bert_model\.ckpt .*missing \['bert\.encoder\.layer\.1\.output\.dense\.bias"):
        load(folder)
    (data,) = folder.glob("bert_model.ckpt.data-*")
    data.write_bytes(data.read_bytes()[:2000])
    with pytest.raises(ValueError, match=r"must be whole.*bert_model\.ckpt, tensor "):
        load(folder)
    (folder / "bert_model.ckpt.index").unlink()
    with pytest.raises(FileNotFoundError, match=r"must hold bert_model\.ckpt\.index"):
        load(folder)


def test_a_wrong_shape_names_the_tensor(tmp_path):
    tensors = tensors_of("BertForPreTraining", hugging_face_model("BertForPreTraining"))
    folder = write_folder(tmp_path / "google", tensors, CONFIG | {"intermediate_size": 21})
    with pytest.raises(ValueError, match=r"layer\.0\.intermediate\.dense\.weight with shape \(20, 12\) in .*ckpt"):
        load(folder)

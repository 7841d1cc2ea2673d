"""The clients against servers that run the exported model: REST, and TensorFlow Serving's gRPC service."""

import concurrent.futures

import pytest
import tiny_model
from conftest import once
from served import serve

from demo import serving_client
from kbert.convert import save_checkpoint
from kbert.serving.client import open_client
from training import serve_check

tf = pytest.importorskip("tensorflow")
pytestmark = once


@pytest.fixture(scope="module")
def rest_url(exported):
    with serve(exported[1].parent) as (url, _):
        yield url


@pytest.fixture(scope="module")
def grpc_url(exported):
    grpc = pytest.importorskip("grpc")
    service = pytest.importorskip("tensorflow_serving.apis.prediction_service_pb2_grpc")
    predict = pytest.importorskip("tensorflow_serving.apis.predict_pb2")
    loaded = tf.saved_model.load(str(exported[1]))

    class Service(service.PredictionServiceServicer):
        """The exported model behind TensorFlow Serving's own service definition."""

        def Predict(self, request, context):  # noqa: N802
            signature = loaded.signatures.get(request.model_spec.signature_name)
            if request.model_spec.name != "bert" or signature is None:
                context.abort(grpc.StatusCode.NOT_FOUND, "Servable not found")
            inputs = {name: tf.constant(tf.make_ndarray(value)) for name, value in request.inputs.items()}
            try:
                outputs = signature(**inputs)
            except (TypeError, ValueError, tf.errors.InvalidArgumentError) as error:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error)[:100])
            return predict.PredictResponse(
                outputs={name: tf.make_tensor_proto(value.numpy()) for name, value in outputs.items()}
            )

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    service.add_PredictionServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"grpc://127.0.0.1:{port}/bert"
    server.stop(None)


@pytest.fixture(params=["rest", "grpc"])
def url(request):
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture(scope="module")
def folders(exported, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    checkpoint = exported[0]
    save_checkpoint(checkpoint.model, checkpoint.tokenizer, folder / "served")
    other = tiny_model.make_model(num_layers=2)
    other.nsp_head.dense.bias.assign([0.1, 0.0])
    save_checkpoint(other, checkpoint.tokenizer, folder / "other")
    (folder / "texts.txt").write_text("the cat sat on a mat.\n\nthe dog ran home, the cat ran.\n", encoding="utf-8")
    return folder


def test_serve_check_agrees_with_the_checkpoint_and_not_with_another(url, folders, capsys):
    options = ["--texts", str(folders / "texts.txt"), "--count", "40"]
    assert serve_check.main([url, str(folders / "served"), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines[:4]] == [
        f"{name}: 42 texts" for name in ("fill_mask", "sentence_pair", "embed", "embed_pair")
    ]
    assert lines[4] == "5 of 5 wrong requests refused"
    if url.startswith("http"):
        assert serve_check.main([url, str(folders / "other"), *options]) == 1
        assert "sentence_pair: 42 texts, largest difference 0.0" in capsys.readouterr().out


def test_the_example_prints_answers(url, capsys):
    assert serving_client.main([url, "fill_mask", "the [MASK] sat on the [MASK]."]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "the >[MASK]< sat on the [MASK]." and lines[7] == "the [MASK] sat on the >[MASK]<."
    assert len(lines) == 14 and all("%" in line for line in lines if ">" not in line)
    assert serving_client.main([url, "sentence_pair", "the cat", "ran"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["follows", "random"]
    assert serving_client.main([url, "embed", "the cat"]) == 0
    assert len(capsys.readouterr().out.split()) == 12


def test_refusals_reach_the_person(url, capsys):
    assert serving_client.main([url, "sentence_pair", "one text only"]) == 2
    assert capsys.readouterr().err.startswith("No answer. The server refuses, with status ")
    with pytest.raises(ValueError, match="http://HOST:PORT/v1/models/NAME"):
        open_client("ftp://nowhere")


def test_no_server_is_one_sentence(capsys):
    assert serving_client.main(["http://127.0.0.1:9/v1/models/bert", "embed", "a"]) == 2
    assert "No answer." in capsys.readouterr().err


def test_rest_status_and_metadata(rest_url):
    client = open_client(rest_url)
    assert client.status()[0]["state"] == "AVAILABLE"
    assert list(client.metadata()["fill_mask"]["inputs"]) == ["text"]

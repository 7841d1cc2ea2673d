"""The REST server as TensorFlow Serving's clients meet it: over HTTP, in its JSON, with its statuses."""

import base64
import concurrent.futures
import itertools
import json
import pathlib
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest
from conftest import once
from served import serve

from kbert.inference import FillMask, SentencePair
from kbert.serving.json_tensors import read_request, write_answer
from kbert.serving.session import Signature, TensorInfo

pytestmark = once
TEXTS = ["the cat [MASK] on a mat.", "no mask", "[MASK] ran [MASK]"]


@pytest.fixture(scope="module")
def server(exported):
    with serve(exported[1].parent, "--name", "bert") as (address, process):
        yield address, process


@pytest.fixture
def url(server):
    return server[0]


def ask(url, body=None, method=None):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_predict_by_row_and_by_column(url, exported):
    status, by_row = ask(f"{url}:predict", {"signature_name": "fill_mask", "instances": [{"text": t} for t in TEXTS]})
    assert status == 200 and list(by_row) == ["predictions"]
    filled = FillMask(exported[0])(TEXTS[2], top_k=6)
    row = by_row["predictions"][2]
    assert row["num_masks"] == 2
    for number, mask in enumerate(filled):
        assert row["words"][number] == [candidate.word for candidate in mask.candidates]
        assert row["probabilities"][number] == pytest.approx([c.probability for c in mask.candidates], abs=1e-5)
        assert TEXTS[2][row["starts"][number] : row["ends"][number]] == "[MASK]"
    by_value = {"signature_name": "fill_mask", "instances": TEXTS}  # One input needs no name.
    assert ask(f"{url}:predict", by_value) == (200, by_row)
    assert ask(f"{url}/versions/1:predict", {"instances": TEXTS}) == (200, by_row)  # The default signature.
    status, by_column = ask(f"{url}:predict", {"inputs": {"text": TEXTS}})
    assert status == 200 and list(by_column) == ["outputs"]
    rows = [dict(zip(by_column["outputs"], values, strict=True)) for values in zip(*by_column["outputs"].values())]  # noqa: B905
    assert rows == by_row["predictions"]
    assert ask(f"{url}:predict", {"inputs": TEXTS}) == (200, by_column)


def test_pairs_and_base64_and_bytes_that_are_no_text(url, exported):
    texts = [{"b64": base64.b64encode(b"the cat\xff sat").decode()}, "the dog"]
    body = {"signature_name": "sentence_pair", "inputs": {"text": texts, "text_pair": ["home", "a \ud800mat"]}}
    status, answer = ask(f"{url}:predict", body)
    assert status == 200
    expected = SentencePair(exported[0])(["the cat sat", "the dog"], ["home", "a mat"])
    assert answer["outputs"]["follows"] == pytest.approx([verdict.follows for verdict in expected], abs=1e-5)


def test_token_ids(url):
    row = {"token_ids": [2, 5, 4, 3], "segment_ids": [0] * 4, "padding_mask": [1] * 4, "mask_positions": [2]}
    status, answer = ask(f"{url}:predict", {"signature_name": "token_ids", "instances": [row, row]})
    assert status == 200
    assert np.array([row["mlm"] for row in answer["predictions"]]).shape == (2, 1, 20)


def test_status_and_metadata(url):
    ok = {"error_code": "OK", "error_message": ""}
    expected = {"model_version_status": [{"version": "1", "state": "AVAILABLE", "status": ok}]}
    assert ask(url) == ask(f"{url}/versions/1") == (200, expected)
    status, metadata = ask(f"{url}/metadata")
    assert status == 200
    assert metadata["model_spec"] == {"name": "bert", "signature_name": "", "version": "1"}
    signature = metadata["metadata"]["signature_def"]["signature_def"]["sentence_pair"]
    assert signature["method_name"] == "tensorflow/serving/predict"
    free = {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}
    assert {key: (info["dtype"], info["tensor_shape"]) for key, info in signature["inputs"].items()} == {
        "text": ("DT_STRING", free),
        "text_pair": ("DT_STRING", free),
    }
    assert signature["outputs"]["follows"]["dtype"] == "DT_FLOAT"


PAIR = {"signature_name": "sentence_pair"}
ROW = {"token_ids": [[1, 2]], "segment_ids": [[0, 0]], "padding_mask": [[1, 1]], "mask_positions": [[0]]}
WRONG = [
    ("", b"{}", 400, "Malformed request: POST /v1/models/bert"),
    (":predict", None, 400, "Malformed request: GET /v1/models/bert:predict"),
    (":ask", b"{}", 400, "Malformed request: POST /v1/models/bert:ask"),
    (":classify", b"{}", 400, "signatures are for :predict. Received: :classify"),
    ("/versions/2", None, 404, "Servable not found for request: Specific(bert, 2)"),
    ("/nothing", None, 400, "Malformed request: GET /v1/models/bert/nothing"),
    ("x:predict", b"{}", 404, "Servable not found for request: Latest(bertx)"),
    (":predict", b"{", 400, "must be JSON"),
    (":predict", b"\xff", 400, "must be JSON"),
    (":predict", b"[" * 100_000, 400, "must be JSON"),
    (":predict", [], 400, "must be a JSON object. Received: list"),
    (":predict", {}, 400, "either `instances` or `inputs`"),
    (":predict", {"instances": ["a"], "inputs": ["a"]}, 400, "either `instances` or `inputs`"),
    (":predict", {"instances": ["a"], "signature_nam": "x"}, 400, "Received: keys ['instances', 'signature_nam']"),
    (":predict", {"instances": ["a"], "signature_name": "none"}, 400, "Received: signature_name='none'"),
    (":predict", {"instances": ["a"], "signature_name": ["x"]}, 400, "Received: signature_name=['x']"),
    (":predict", {"instances": []}, 400, "at least one instance"),
    (":predict", {"instances": ["a", {"text": "b"}]}, 400, "same names, or all plain values"),
    (":predict", {"instances": [{"text": "a"}, {"texts": "b"}]}, 400, "same names"),
    (":predict", {"instances": [{"texts": "a"}]}, 400, "inputs of serving_default must be ['text']"),
    (":predict", {"instances": [1]}, 400, "`text` must hold strings"),
    (":predict", {"instances": [None]}, 400, "`text` must hold strings"),
    (":predict", {"instances": [["a"]]}, 400, "`text` must be lists of equal length, 1 deep"),
    (":predict", {"inputs": "a"}, 400, "`text` must be lists of equal length, 1 deep"),
    (":predict", {"instances": [{"b64": "?"}]}, 400, "`text` must hold base64"),
    (":predict", PAIR | {"instances": ["a"]}, 400, "Each input must have its name"),
    (":predict", PAIR | {"inputs": {"text": ["a", "b"], "text_pair": ["c"]}}, 400, "Shapes of all inputs must match"),
    (":predict", {"signature_name": "token_ids", "inputs": ROW | {"token_ids": [[1, 2], [3]]}}, 400, "equal length"),
    (":predict", {"signature_name": "token_ids", "inputs": ROW | {"token_ids": [[1, 2.5]]}}, 400, "whole numbers"),
    (":predict", {"signature_name": "token_ids", "inputs": ROW | {"token_ids": [[1, True]]}}, 400, "whole numbers"),
    (":predict", {"signature_name": "token_ids", "inputs": ROW | {"token_ids": [[1, 2**40]]}}, 400, "32 bits"),
    (":predict", {"signature_name": "token_ids", "inputs": ROW | {"token_ids": [[1, 999]]}}, 400, "999"),
]


@pytest.mark.parametrize(("path", "body", "status", "reason"), WRONG, ids=range(len(WRONG)))
def test_wrong_requests_get_a_status_and_a_reason(url, path, body, status, reason):
    found, answer = ask(url + path, body)
    assert list(answer) == ["error"] and "Traceback" not in answer["error"]
    assert found == status and reason in answer["error"]


def raw(url, request):
    address = urllib.parse.urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        parts = iter(lambda: connection.recv(65536), b"")
        return b"".join(parts)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /elsewhere HTTP/1.1\r\n\r\n", 404),
        (b"BREW /v1/models/bert HTTP/1.1\r\n\r\n", 501),
        (b"POST /v1/models/bert:predict HTTP/1.1\r\n\r\n", 411),
        (b"POST /v1/models/bert:predict HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 411),
        (b"POST /v1/models/bert:predict HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /v1/models/bert:predict HTTP/1.1\r\nContent-Length: 50\r\n\r\n{", 400),  # Hung up half-way.
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
    ],
)
def test_what_is_no_request_is_refused_in_json(url, request_bytes, status):
    head, _, body = raw(url, request_bytes).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status) and json.loads(body)["error"]
    assert ask(url)[0] == 200


def test_many_at_a_time_get_each_their_own_answer(url, exported):
    words = ["cat", "dog", "home", "mat"] * 10
    expected = {word: FillMask(exported[0])(f"the {word} [MASK].", top_k=6)[0].candidates for word in set(words)}

    def answer(word):
        return ask(f"{url}:predict", {"instances": [f"the {word} [MASK]."]})[1]["predictions"][0]

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for word, row in zip(words, threads.map(answer, words), strict=True):
            assert row["words"][0] == [candidate.word for candidate in expected[word]]


@pytest.mark.skipif(sys.platform != "linux", reason="the heaps are read in /proc")
def test_the_threads_of_a_server_share_one_heap(server):
    url, process = server
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(f"{url}:predict", {"inputs": TEXTS}), range(8)))
    assert {status for status, _ in answers} == {200}
    lines = pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    maps = [(*(int(end, 16) for end in line.split()[0].split("-")), *line.split()[1:]) for line in lines]
    # A heap of glibc's for a thread: 64 MiB from a multiple of it, the front in use and the rest kept out of reach.
    heaps = [
        used
        for used, rest in itertools.pairwise(maps)
        if used[2] == "rw-p" and rest[2] == "---p" and used[0] % 2**26 == 0 and rest[1] - used[0] == 2**26
    ]
    assert not heaps


def test_outputs_called_bytes_are_base64_and_one_output_has_no_name():
    outputs = {"image_bytes": np.array([b"\xff"], object)}
    assert write_answer(outputs, by_row=True) == {"predictions": [{"b64": "/w=="}]}
    assert write_answer(outputs, by_row=False) == {"outputs": [{"b64": "/w=="}]}
    signatures = {"serving_default": Signature({"x": TensorInfo("x:0", 7, (-1, -1))}, {})}
    name, inputs, by_row = read_request({"instances": [["a", {"b64": "/w=="}], ["b", ""]]}, signatures)
    assert (name, by_row) == ("serving_default", True)
    assert inputs["x"].tolist() == [[b"a", b"\xff"], [b"b", b""]]


def test_a_folder_without_versions_is_refused(tmp_path, capsys):
    from kbert.cli import main

    assert main(["serve", str(tmp_path)]) == 2
    assert "must hold a version" in capsys.readouterr().err

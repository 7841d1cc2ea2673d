"""A small server for one machine that speaks TensorFlow Serving's REST API: predict, status and metadata.

It is there to try an export, its clients and the load they make; what faces others is TensorFlow Serving itself.

Source: TensorFlow Serving `model_servers/http_rest_api_handler.cc` for paths and errors, `http_server.cc` for statuses.
"""

import http.server
import json
import os
import pathlib
import re
import sys
import threading

from kbert.serving.c_library import NUMPY_TYPES, STRING
from kbert.serving.json_tensors import read_request, write_answer
from kbert.serving.session import SavedModelSession

MAX_BODY_BYTES = 8 * 2**20
_PATH = re.compile(r"/v1/models/(?P<model>[^/:]+)(?:/versions/(?P<version>\d{1,18}))?(?P<rest>/metadata|:\w+)?")
_TYPE_NAMES = {STRING: "DT_STRING"} | dict(
    zip(NUMPY_TYPES, ("DT_FLOAT", "DT_DOUBLE", "DT_INT32", "DT_UINT8", "DT_INT64", "DT_BOOL"), strict=True)
)


class Refusal(Exception):
    """A request that gets no answer: an HTTP status of 400 or more, and the reason."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class RestServer(http.server.ThreadingHTTPServer):
    """Serve the highest version in a folder. Call `serve_forever`, and `shutdown` from another thread.

    Args:
        folder: of numbered SavedModels, as `kbert export` writes them.
        name: str, of the model in the address: /v1/models/NAME.
        host, port: str and int, where to listen; port 0 takes a free one.

    Raises:
        FileNotFoundError: the folder holds no version.
        ValueError: the highest version is no SavedModel.
        OSError: the port is taken, or the host is no address of this machine.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder, name="kbert", host="127.0.0.1", port=8501):
        versions = [path for path in pathlib.Path(folder).glob("*") if path.name.isdecimal()]
        if not versions:
            raise FileNotFoundError(f"A folder to serve must hold a version, such as {folder}/1. Received: {folder}.")
        path = max(versions, key=lambda path: int(path.name))
        self.name, self.version = name, path.name
        self.session = SavedModelSession(path)
        super().__init__((host, port), _Handler)
        # More at a time would only slow each other down, and take the memory of more.
        self.places = threading.BoundedSemaphore(os.cpu_count() or 1)

    def handle_error(self, request, client_address):
        """Say nothing of a client that hung up; log any other failure of a connection."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def url(self):
        """The address of the model."""
        host, port = self.server_address[:2]
        return f"http://{host}:{port}/v1/models/{self.name}"

    def status(self):
        """Return the JSON value of the model's status."""
        status = {"error_code": "OK", "error_message": ""}
        return {"model_version_status": [{"version": self.version, "state": "AVAILABLE", "status": status}]}

    def metadata(self):
        """Return the JSON value of the model's signatures."""
        signatures = {
            name: {
                "inputs": {key: _describe(info) for key, info in signature.inputs.items()},
                "outputs": {key: _describe(info) for key, info in signature.outputs.items()},
                "method_name": "tensorflow/serving/predict",
                "defaults": {},
            }
            for name, signature in self.session.signatures.items()
        }
        return {
            "model_spec": {"name": self.name, "signature_name": "", "version": self.version},
            "metadata": {"signature_def": {"signature_def": signatures}},
        }

    def predict(self, body):
        """Return the JSON value of the answer to a predict request, bytes of JSON.

        Raises:
            Refusal: the request is not one that the model answers.
        """
        try:
            request = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Refusal(400, f"A request must be JSON. Received: {error}.") from error
        try:
            name, inputs, by_row = read_request(request, self.session.signatures)
            with self.places:
                return write_answer(self.session.run(name, inputs), by_row)
        except ValueError as error:
            raise Refusal(400, str(error)) from error


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "kbert"
    sys_version = ""
    timeout = 60  # Seconds a client may take to send.

    def do_GET(self):
        self._answer(self._get)

    def do_POST(self):
        self._answer(self._post)

    def _get(self):
        rest = self._find_model()
        if rest == "/metadata":
            return self.server.metadata()
        if rest is None:
            return self.server.status()
        raise self._malformed()

    def _post(self):
        # Read first: bytes left behind would pass for the next request of the connection.
        body = self._read_body()
        rest = self._find_model()
        if rest in (":classify", ":regress"):
            raise Refusal(400, f"The model's signatures are for :predict. Received: {rest}.")
        if rest != ":predict":
            raise self._malformed()
        return self.server.predict(body)

    def _find_model(self):
        found = _PATH.fullmatch(self.path)
        if found is None:
            raise self._malformed()
        version = found["version"]
        if found["model"] != self.server.name or version not in (None, self.server.version):
            wanted = f"Latest({found['model']})" if version is None else f"Specific({found['model']}, {version})"
            raise Refusal(404, f"Servable not found for request: {wanted}")
        return found["rest"]

    def _malformed(self):
        return Refusal(400 if self.path.startswith("/v1/") else 404, f"Malformed request: {self.command} {self.path}")

    def _read_body(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise Refusal(411, "A request must say its Content-Length.")
        if int(length) > MAX_BODY_BYTES:
            raise Refusal(413, f"A request must have at most {MAX_BODY_BYTES} bytes. Received: {length} bytes.")
        return self.rfile.read(int(length))

    def _answer(self, find):
        try:
            status, value = 200, find()
        except Refusal as refusal:
            status, value = refusal.status, {"error": str(refusal)}
        except Exception as error:
            self.log_error("%r", error)
            status, value = 500, {"error": "The server failed; its log tells why."}
        if status != 200:
            self.close_connection = True  # The body of a refused request may not have been read.
        self._send(status, value)

    def _send(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code, message=None, explain=None):
        """Refuse what is no HTTP, or a method nobody answers, in JSON as all else."""
        self.close_connection = True
        self.request_version = self.protocol_version  # A first line that is no HTTP would get an answer without head.
        self._send(code, {"error": message or http.HTTPStatus(code).phrase})

    def log_request(self, code="-", size="-"):
        """Log refusals only: a line a request would drown them."""
        if str(code)[:1] in "45":
            super().log_request(code, size)


def _describe(info):
    dimensions = [{"size": str(size), "name": ""} for size in info.shape]
    shape = {"dim": dimensions, "unknown_rank": False}
    return {"dtype": _TYPE_NAMES[info.code], "tensor_shape": shape, "name": info.tensor}

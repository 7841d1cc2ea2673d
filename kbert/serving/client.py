"""Ask a model behind TensorFlow Serving, over REST or gRPC."""

import base64
import json
import urllib.error
import urllib.request

import numpy as np


def open_client(url):
    """Return a client for an address.

    Args:
        url: "http://HOST:8501/v1/models/NAME" for REST, "grpc://HOST:8500/NAME" for gRPC.

    Raises:
        ValueError: the address is neither.
        ImportError: gRPC's packages are not installed.
    """
    if url.startswith(("http://", "https://")):
        return RestClient(url)
    if url.startswith("grpc://"):
        from kbert.serving.grpc_client import GrpcClient

        return GrpcClient(url)
    raise ValueError(
        "An address must be http://HOST:PORT/v1/models/NAME, https:// likewise, or grpc://HOST:PORT/NAME. "
        f"Received: {url!r}."
    )


class RestClient:
    """Ask over REST, with Python's own library.

    Args:
        url: str, the address of the model.
        timeout: float, seconds to wait for an answer.
    """

    def __init__(self, url, timeout=60.0):
        self.url = url.rstrip("/")
        self.timeout = timeout

    def predict(self, signature, **inputs):
        """Return the answer of a signature.

        Args:
            signature: str, such as "fill_mask".
            **inputs: list of str or bytes, or nested list of int, by the name of the input.

        Returns:
            dict of NumPy arrays; strings as str in arrays of object dtype.

        Raises:
            ValueError: the server refuses the request; its reason.
            OSError: no server answers.
        """
        values = {name: _to_json(value) for name, value in inputs.items()}
        outputs = self._ask(":predict", {"signature_name": signature, "inputs": values})["outputs"]
        return {name: _to_array(value) for name, value in outputs.items()}

    def status(self):
        """Return what the server says of the model's versions."""
        return self._ask("")["model_version_status"]

    def metadata(self):
        """Return the signatures: a dict of name to `inputs` and `outputs`."""
        return self._ask("/metadata")["metadata"]["signature_def"]["signature_def"]

    def _ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            reason = error.read().decode(errors="replace")
            raise ValueError(f"The server refuses, with status {error.code}: {reason}") from error


def _to_json(value):
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_to_json(part) for part in value] if isinstance(value, (list, tuple)) else value


def _to_array(value):
    array = np.array(value)
    return np.array(value, object) if array.dtype.kind == "U" else array

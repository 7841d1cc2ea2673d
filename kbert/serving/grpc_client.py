"""Ask a model behind TensorFlow Serving over gRPC, with the package tensorflow-serving-api (which needs TensorFlow)."""

import numpy as np


class GrpcClient:
    """Ask over gRPC.

    Args:
        url: str, "grpc://HOST:PORT/NAME".
        timeout: float, seconds to wait for an answer.

    Raises:
        ImportError: the package is not installed.
    """

    def __init__(self, url, timeout=60.0):
        try:
            import grpc
            import tensorflow as tf
            from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
        except ModuleNotFoundError as error:
            raise ImportError(
                f"gRPC needs {error.name}. Install it with `pip install 'keras-kbert[serving]'`."
            ) from error
        address, _, self.name = url.removeprefix("grpc://").partition("/")
        self.timeout = timeout
        self._refused, self._request, self._tensorflow = grpc.RpcError, predict_pb2.PredictRequest, tf
        self._service = prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel(address))

    def predict(self, signature, **inputs):
        """Return the answer of a signature; see `kbert.serving.client.RestClient.predict`.

        Raises:
            ValueError: the server refuses the request, or none answers; the reason.
        """
        request = self._request()
        request.model_spec.name, request.model_spec.signature_name = self.name, signature
        for name, value in inputs.items():
            request.inputs[name].CopyFrom(self._tensorflow.make_tensor_proto(value))
        try:
            outputs = self._service.Predict(request, self.timeout).outputs
        except self._refused as error:
            raise ValueError(f"The server refuses, with status {error.code().name}: {error.details()}") from error
        return {name: _to_text(self._tensorflow.make_ndarray(value)) for name, value in outputs.items()}


def _to_text(array):
    if array.dtype != object:
        return array
    texts = np.empty(array.size, object)
    texts[:] = [value.decode() for value in array.flat]
    return texts.reshape(array.shape)

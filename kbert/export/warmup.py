"""The requests that TensorFlow Serving replays when it loads a model, so that the first real one is not slow."""

import tensorflow as tf

from kbert.serving.wire import field

FILE = "assets.extra/tf_serving_warmup_requests"


def write_warmup_requests(path, requests):
    """Write requests into a SavedModel.

    Args:
        path: `pathlib.Path` of its folder.
        requests: list of (signature name, dict of input names to arrays or lists).
    """
    file = path / FILE
    file.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(file)) as writer:
        for signature, inputs in requests:
            tensors = {name: tf.make_tensor_proto(value).SerializeToString() for name, value in inputs.items()}
            writer.write(_prediction_log(path.name, signature, tensors))


def _prediction_log(model, signature, tensors):
    # tensorflow_serving/apis: PredictionLog 6 = PredictLog, its 1 = PredictRequest, its 1 = ModelSpec (1 name,
    # 3 signature_name) and 2 = inputs, a map, so pairs of 1 key and 2 TensorProto.
    request = field(1, field(1, model.encode()) + field(3, signature.encode()))
    request += b"".join(field(2, field(1, name.encode()) + field(2, tensor)) for name, tensor in tensors.items())
    return field(6, field(1, request))

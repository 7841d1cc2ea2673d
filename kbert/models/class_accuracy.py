"""The share of right classes."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class ClassAccuracy(keras.metrics.MeanMetricWrapper):
    """The share of places where the largest logit is the target's.

    `keras.metrics.SparseCategoricalAccuracy`, which on TensorFlow reads the logits five times to tell -0 from 0.

    Call arguments:
        y_true: `[...]` or `[..., 1]`, classes in [0, V).
        y_pred: float `[..., V]`, logits.
    """

    def __init__(self, name="accuracy", dtype=None):
        super().__init__(_is_right, name, dtype)
        self._direction = "up"

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype}


def _is_right(y_true, y_pred):
    if keras.backend.backend() == "tensorflow":
        from kbert.tensorflow_kernels import largest_places

        found = largest_places(y_pred)
    else:
        found = ops.cast(ops.argmax(y_pred, axis=-1), "int32")
    targets = ops.reshape(ops.cast(y_true, "int32"), ops.shape(found))
    return ops.cast(ops.equal(targets, found), "float32")

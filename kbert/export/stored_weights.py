"""Weights that take less room in the SavedModel's files: half precision, or int8 with a scale for each row or column.

A server turns them into float32 once, as it loads the model, and computes with these as with any others.
"""

import hashlib

import keras
import numpy as np
import tensorflow as tf

_LARGEST_INT8 = 127
_LARGEST_FLOAT16 = float(np.finfo("float16").max)


class StoredWeight(tf.saved_model.experimental.TrackableResource):
    """A float32 variable that is filled, when the model is loaded, from what the file holds.

    Args:
        values: float16 or int8 array.
        scale: float32 array to multiply int8 values with, of a shape that spreads over theirs; or None.
    """

    def __init__(self, values, scale):
        self.rounded = values.astype("float32") if scale is None else values.astype("float32") * scale
        # Models in one process that have the name in common have the values in common.
        self._name = f"kbert-{values.dtype}-{hashlib.sha256(self.rounded.tobytes()).hexdigest()}-{values.shape}"
        super().__init__()
        self.values = tf.Variable(values, trainable=False)
        self.scale = None if scale is None else tf.Variable(scale, trainable=False)
        self._initialize()

    def read(self):
        """Return the float32 tensor."""
        tensor = tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=tf.float32)
        tensor.set_shape(self.values.shape)
        return tensor

    def _create_resource(self):
        return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=self.rounded.shape, shared_name=self._name)

    def _initialize(self):
        values = tf.cast(self.values, tf.float32)
        values = values if self.scale is None else values * self.scale
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=values)


class StoredWeights(keras.StatelessScope):
    """Put stored weights in the place of a model's own, for functions that are traced in this scope.

    Args:
        model: Keras model on the TensorFlow backend. Its weights get the values that are left of them.
        kind: "float16", or "int8" for the matrices: what is no matrix stays float32.

    Raises:
        ValueError: a weight is too large for float16.
    """

    def __init__(self, model, kind):
        super().__init__()
        self._used = {}
        self._stored = {}
        for variable in model.weights:
            values = variable.numpy()
            if values.dtype == "float32" and (kind == "float16" or values.ndim > 1):
                stored = StoredWeight(*(_halve(values) if kind == "float16" else _quantize(variable.path, values)))
                variable.assign(stored.rounded)
                self._stored[id(variable)] = stored

    def get_current_value(self, variable):
        """Return what a Keras layer computes with."""
        stored = self._stored.get(id(variable))
        if stored is None:
            return None
        self._used[id(variable)] = stored
        return stored.read()

    @property
    def used(self):
        """What was read, each a list of a `StoredWeight` and its variables: the SavedModel has to track it."""
        return [[stored, stored.values, stored.scale] for stored in self._used.values()]


def _halve(values):
    if np.abs(values).max() > _LARGEST_FLOAT16:
        raise ValueError(
            f"For weights='float16' a weight must be at most {_LARGEST_FLOAT16:.0f}. "
            f"Received: {np.abs(values).max()}. Export with weights='float32'."
        )
    return values.astype("float16"), None


def _quantize(path, values):
    # A scale for each output: a column of a kernel; or a row of a table, which is an output of the head too.
    axes = tuple(range(1, values.ndim)) if "embedding" in path.rsplit("/", 1)[-1] else 0
    scale = np.abs(values).max(axes, keepdims=True) / np.float32(_LARGEST_INT8)
    scale = np.where(scale == 0, np.float32(1), scale)
    return np.rint(values / scale).astype("int8"), scale

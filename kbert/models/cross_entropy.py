"""Cross entropy over many classes, with a gradient that takes one pass over them."""

import keras
from keras import ops

from kbert.layers.one_pass import in_one_pass


@keras.saving.register_keras_serializable(package="kbert")
class ClassLoss(keras.losses.Loss):
    """Cross entropy of one class, from logits and int targets.

    `keras.losses.SparseCategoricalCrossentropy(from_logits=True)` in fewer passes over the logits, which are the
    largest array of masked-word training; loss and gradient are the same to float32's rounding.

    Args:
        reduction: as in `keras.losses.Loss`. The default averages over what is not weighed 0; Keras' own would divide
            by all places, used or not.

    Call arguments:
        y_true: `[...]` or `[..., 1]`, classes in [0, V).
        y_pred: float `[..., V]`, logits.

    Returns:
        float32, reduced.
    """

    def __init__(self, reduction="mean_with_sample_weight", name="class_loss", **kwargs):
        super().__init__(name=name, reduction=reduction, **kwargs)

    def call(self, y_true, y_pred):
        shape = ops.shape(y_pred)
        logits = ops.reshape(ops.cast(y_pred, "float32"), (-1, shape[-1]))
        targets = ops.reshape(ops.cast(y_true, "int32"), (-1,))
        return ops.reshape(_losses(logits, targets), shape[:-1])


def _losses(logits, targets):
    if keras.backend.backend() == "torch":
        from kbert.torch_kernels import cross_entropy

        return cross_entropy(logits, targets)
    return in_one_pass(_cross_entropy, logits, targets)


@ops.custom_gradient
def _cross_entropy(logits, targets):
    """Return the losses `[N]` of float32 logits `[N, V]` and int32 targets `[N]`."""
    largest = ops.max(logits, axis=-1, keepdims=True)  # [N, 1]
    shares = ops.exp(logits - largest)  # [N, V], softmax but for its sum.
    total = ops.sum(shares, axis=-1)  # [N]
    losses = ops.log(total) - (ops.take_along_axis(logits, targets[:, None], axis=-1) - largest)[:, 0]

    def gradient(*args, upstream=None):
        (upstream,) = args if upstream is None else (upstream,)
        # Softmax, less 1 at the target, times upstream.
        slopes = shares * (upstream / total)[:, None]
        places = ops.stack([ops.arange(ops.shape(targets)[0], dtype="int32"), targets], axis=-1)
        return ops.scatter_update(slopes, places, ops.expm1(-losses) * upstream), None

    return losses, gradient

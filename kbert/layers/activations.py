"""The activations a BERT may use, by the name of their form."""

import math

import keras
from keras import ops


def gelu_erf(x):
    """Compute x * Phi(x) with the exact normal distribution function."""
    return _gelu_erf_in_few_ops(x) if keras.backend.backend() == "tensorflow" else ops.gelu(x, approximate=False)


def gelu_tanh(x):
    """Compute the tanh approximation of GELU, with the constant 0.044715."""
    return ops.gelu(x, approximate=True)


def get_activation(name):
    """Return the function of one of `kbert.config.ACTIVATIONS`."""
    return {"gelu_erf": gelu_erf, "gelu_tanh": gelu_tanh, "relu": ops.relu}[name]


@ops.custom_gradient
def _gelu_erf_in_few_ops(x):
    """Keep only x for the gradient, and compute half precision in float32, as the other backends' kernels do.

    TensorFlow has no kernel for it: its own formula is differentiated op by op, each a pass over the largest activation
    of a block, in half precision as in full.
    """
    wide = ops.cast(x, keras.backend.result_type(x.dtype, "float32"))

    def gradient(*args, upstream=None):
        (upstream,) = args if upstream is None else (upstream,)
        density = ops.exp(-0.5 * ops.square(wide)) * (1 / math.sqrt(2 * math.pi))
        slope = 0.5 + 0.5 * ops.erf(wide * math.sqrt(0.5)) + wide * density
        return ops.cast(ops.cast(upstream, wide.dtype) * slope, x.dtype)

    # Keras' own formula, which LiteRT's converter knows as GELU.
    return ops.cast(ops.gelu(wide, approximate=False), x.dtype), gradient

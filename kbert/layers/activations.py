"""The activations a BERT may use, by the name of their form."""

import keras


def gelu_erf(x):
    """Compute x * Phi(x) with the exact normal distribution function."""
    return keras.ops.gelu(x, approximate=False)


def gelu_tanh(x):
    """Compute the tanh approximation of GELU, with the constant 0.044715."""
    return keras.ops.gelu(x, approximate=True)


def get_activation(name):
    """Return the function of one of `kbert.config.ACTIVATIONS`."""
    return {"gelu_erf": gelu_erf, "gelu_tanh": gelu_tanh, "relu": keras.ops.relu}[name]

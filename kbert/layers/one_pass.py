"""Chains of elementwise operations as one pass over memory, where the backend would take a pass for each."""

import keras

# A chain over fewer numbers a row is quick as it is, and compiling takes longer than it saves.
MIN_WIDTH = 256


def in_one_pass(function, *arrays, training=True):
    """Return `function(*arrays)`, in TensorFlow's training on a CPU compiled into few loops, gradient included.

    Elsewhere it is a plain call: JAX compiles whole steps, PyTorch has kernels for what kbert calls, and on a GPU
    memory is fast and TensorFlow's compiler needs CUDA's own files.

    Args:
        function: of tensors to one float tensor, made of `keras.ops`. The same object each time, or it is compiled
            each time; it must not read variables.
        *arrays: tensors; the last axis of the first decides whether it pays.
        training: bool.
    """
    width = arrays[0].shape[-1]
    if keras.backend.backend() == "tensorflow" and training and width is not None and width >= MIN_WIDTH:
        from kbert.tensorflow_kernels import compiled

        return compiled(function)(*arrays)
    return function(*arrays)

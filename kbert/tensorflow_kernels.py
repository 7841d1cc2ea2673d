"""What TensorFlow does in one pass over memory where Keras' operations, which suit every backend, take many.

Imported on the TensorFlow backend only.
"""

import functools

import tensorflow as tf


def apply_adam(variable, m, v, gradient, length, epsilon, beta_1, beta_2):
    """Take a gradient into both means, and move a variable by length m / (sqrt(v) + epsilon).

    Args:
        variable, m, v: `tf.Variable`s of one shape and dtype.
        gradient: tensor of that shape, or `tf.IndexedSlices`.
        length, epsilon: scalars.
        beta_1, beta_2: floats.
    """
    dtype = variable.dtype
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=m.handle,
        v=v.handle,
        # Powers for the kernel's own bias correction; 0: none. Whoever wants one has it in `length` and `epsilon`.
        beta1_power=tf.zeros([], dtype),
        beta2_power=tf.zeros([], dtype),
        lr=tf.cast(length, dtype),
        beta1=tf.constant(beta_1, dtype),
        beta2=tf.constant(beta_2, dtype),
        epsilon=tf.cast(epsilon, dtype),
        grad=tf.cast(tf.convert_to_tensor(gradient), dtype),
    )


def clip_by_global_norm(gradients, largest):
    """Return gradients scaled so that their common norm is at most `largest`; NaN if it is not finite.

    Args:
        gradients: list of tensors, `tf.IndexedSlices` or None.
        largest: float.
    """
    # Dense first: slices may hold a row twice, and TensorFlow would take the norm of each by itself.
    gradients = [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients]
    return tf.clip_by_global_norm(gradients, largest)[0]


def keep_mask(shape, rate, seed):
    """Return which elements dropout keeps, each drawn from 16 bits: one draw of the generator serves eight.

    Args:
        shape: int32 `[n]`.
        rate: float in (0, 1), share of what is dropped, rounded to a multiple of 2**-16.
        seed: int `[2]`.

    Returns:
        bool tensor of that shape.
    """
    size = tf.reduce_prod(shape)
    words = tf.random.stateless_uniform([(size + 3) // 4], tf.cast(seed, tf.int64), None, None, tf.uint64)
    draws = tf.reshape(tf.reshape(tf.bitcast(words, tf.int16), [-1])[:size], shape)
    return draws >= tf.constant(round(rate * 2**16) - 2**15, tf.int16)


def rows_at(rows, places):
    """Return `[B, P, D]`, of each row of `[B, T, D]` the vectors at its int places `[B, P]`.

    `keras.ops.take_along_axis` gathers every number by itself, and its gradient adds each up by itself.
    """
    return tf.gather(rows, places, batch_dims=1)


def products(vectors, table):
    """Return `[B, P, V]`, the products of `[B, P, D]` with the rows of `[V, D]`.

    The gradient of the table comes as `[V, D]`; that of a transposed table would be transposed back, number by number.
    """
    shape = tf.shape(vectors)
    flat = tf.matmul(tf.reshape(vectors, [-1, table.shape[1]]), table, transpose_b=True)
    return tf.reshape(flat, [shape[0], shape[1], table.shape[0]])


@functools.cache
def compiled(function):
    """Return a function of tensors to one float tensor, compiled by XLA, which makes a loop of many operations.

    The gradient is compiled too, and computes again what it needs of the forward pass: reading less memory is worth
    more than computing twice. Each size of the arrays is compiled once, in some tenths of a second. On a GPU, where
    memory is fast and XLA needs CUDA's own files, the function is returned as it is.
    """
    if tf.config.get_visible_devices("GPU"):
        return function
    forward = tf.function(function, jit_compile=True, autograph=False)

    @tf.function(jit_compile=True, autograph=False)
    def backward(arrays, upstream):
        with tf.GradientTape() as tape:
            tape.watch([array for array in arrays if array.dtype.is_floating])
            result = function(*arrays)
        return tape.gradient(result, arrays, upstream)

    @tf.custom_gradient
    def both(*arrays):
        return forward(*arrays), lambda upstream: backward(arrays, upstream)

    return both

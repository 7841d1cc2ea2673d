"""What TensorFlow does in one pass over memory where Keras' operations, which suit every backend, take many.

Imported on the TensorFlow backend only.
"""

import functools

import tensorflow as tf

# Smaller arrays take longer to compile than they save.
MIN_COMPILED_SIZE = 2**16


def apply_adam(variable, m, v, gradient, scale, length, decay, epsilon, beta_1, beta_2):
    """Take a gradient into both means, and move a variable to (1 - decay) w - length m / (sqrt(v) + epsilon).

    Args:
        variable, m, v: `tf.Variable`s of one shape and dtype.
        gradient: tensor of that shape, or `tf.IndexedSlices`.
        scale: scalar, of the gradient.
        length, decay, epsilon: scalars; a decay that is the number 0 costs nothing.
        beta_1, beta_2: floats.
    """
    dtype = variable.dtype
    gradient = tf.cast(tf.convert_to_tensor(gradient), dtype)
    rests = 1 - beta_1, 1 - beta_2  # Here, where they are exact: 0.999 is 1 in bfloat16.
    is_decayed = not (isinstance(decay, float) and decay == 0)
    scale, length, decay, epsilon, *rests = (tf.cast(x, dtype) for x in (scale, length, decay, epsilon, *rests))
    # TensorFlow's own kernel takes 1 - beta_2 in the dtype of the variable, which half precision is too coarse for.
    if dtype.size < 4 or (variable.shape.num_elements() >= MIN_COMPILED_SIZE and not has_gpu()):
        step = _adam if has_gpu() else _compiled_adam
        step(variable.handle, m.handle, v.handle, gradient, scale, length, decay, epsilon, *rests)
        return
    if is_decayed:
        variable.assign_sub(decay * variable)
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=m.handle,
        v=v.handle,
        # Powers for the kernel's own bias correction; 0: none. Whoever wants one has it in `length` and `epsilon`.
        beta1_power=tf.zeros([], dtype),
        beta2_power=tf.zeros([], dtype),
        lr=length,
        beta1=tf.cast(beta_1, dtype),
        beta2=tf.cast(beta_2, dtype),
        epsilon=epsilon,
        grad=scale * gradient,
    )


# Of handles, not variables: a function would not run again once the variables that it first saw are gone.
def _adam(variable, m, v, gradient, scale, length, decay, epsilon, rest_1, rest_2):
    w, old_m, old_v = (tf.raw_ops.ReadVariableOp(resource=handle, dtype=gradient.dtype) for handle in (variable, m, v))
    gradient = scale * gradient
    new_m = old_m + rest_1 * (gradient - old_m)
    new_v = old_v + rest_2 * (gradient * gradient - old_v)
    tf.raw_ops.AssignVariableOp(resource=m, value=new_m)
    tf.raw_ops.AssignVariableOp(resource=v, value=new_v)
    moved = w - decay * w - length * new_m / (tf.sqrt(new_v) + epsilon)
    tf.raw_ops.AssignVariableOp(resource=variable, value=moved)


_compiled_adam = tf.function(_adam, jit_compile=True, autograph=False)


def scale_to_norm(gradients, largest):
    """Return dense gradients, and the factor by which their common norm is at most `largest`; NaN if it is not finite.

    Args:
        gradients: list of tensors, `tf.IndexedSlices` or None.
        largest: float.
    """
    # Dense first: slices may hold a row twice, and TensorFlow would take the norm of each by itself.
    gradients = [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients]
    found = [gradient for gradient in gradients if gradient is not None]
    # Half precision overflows in squares, and the sums of several dtypes do not add.
    halves = [tf.nn.l2_loss(tf.cast(x, tf.float32) if x.dtype.size < 4 else x) for x in found]
    widest = max((half.dtype for half in halves), key=lambda dtype: dtype.size)
    norm = tf.sqrt(2 * tf.add_n([tf.cast(half, widest) for half in halves]))
    return gradients, tf.where(tf.math.is_finite(norm), largest / tf.maximum(norm, largest), float("nan"))


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
    more than computing twice. Each size of the arrays is compiled once, in some tenths of a second. With a GPU it is
    the function itself.
    """
    if has_gpu():
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


def largest_places(logits):
    """Return int32 `[...]`, the place of the largest of the last axis of `[..., V]`, the first of several."""
    return tf.argmax(logits, axis=-1, output_type=tf.int32)


def has_gpu():
    """Return whether TensorFlow may use a GPU."""
    return bool(tf.config.get_visible_devices("GPU"))

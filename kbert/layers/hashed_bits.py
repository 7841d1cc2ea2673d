"""Random bits for dropout by hashing the number of each element: arithmetic that compiles into the loop it serves."""

import math

from keras import ops


def keep_mask(shape, rate, seed):
    """Return which elements dropout keeps.

    Element i is hashed twice, each time with a key that is hashed from the seed. By the function's author each bit of
    the input changes each bit of the output in half of all cases, all but exactly. That serves dropout; it is no
    generator for statistics.

    Args:
        shape: tuple of int.
        rate: float in [0, 1), share of what is dropped.
        seed: int `[2]`, as Keras' `SeedGenerator.next` returns it.

    Returns:
        bool tensor of that shape.

    Source: Chris Wellons, "Prospecting for hash functions", lowbias32.
    """
    first, second = (ops.cast(seed[index], "uint32") for index in (0, 1))
    added, mixed_in = _hash(_hash(first) + second), _hash(ops.bitwise_xor(_hash(second + _number(0x9E3779B9)), first))
    numbers = ops.cast(ops.arange(math.prod(shape), dtype="int32"), "uint32")
    bits = _hash(ops.bitwise_xor(_hash(numbers + added), mixed_in))
    return ops.reshape(bits >= _number(round(rate * 2**32)), shape)


def _hash(x):
    x = _fold(x, 16) * _number(0x7FEB352D)
    x = _fold(x, 15) * _number(0x846CA68B)
    return _fold(x, 16)


def _fold(x, bits):
    return ops.bitwise_xor(x, ops.right_shift(x, _number(bits)))


def _number(value):
    return ops.convert_to_tensor(value, "uint32")

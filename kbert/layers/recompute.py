"""Activations that the backward pass computes again, so that the forward pass need not keep them."""

import contextlib

import keras


def recompute(layer, forward, hidden_states, draws):
    """Return `forward(hidden_states)`; of all in between only `hidden_states` stays in memory for the gradient.

    `keras.RematScope` round a layer with dropout would draw again when it computes again. So here `forward` reads
    weights and seeds as plain tensors that are handed to it, and draws the same twice.

    Args:
        layer: keras.layers.Layer, whose weights `forward` uses.
        forward: called with float `[B, T, D]` in training; returns one tensor.
        hidden_states: float `[B, T, D]`.
        draws: list of (`keras.random.SeedGenerator` of the layer, how often `forward` draws from it).

    Returns:
        What `forward` returns, and would have without this, random draws included.
    """
    weights = layer.weights
    seeds = []
    for generator, times in draws:
        seeds.append((generator.state, generator.next()))
        for _ in range(times - 1):
            generator.next()

    def pure(hidden_states, *values):
        with _plain_exceptions(), keras.StatelessScope([*zip(weights, values, strict=True), *seeds]):
            return forward(hidden_states)

    return keras.remat(pure)(hidden_states, *(weight.value for weight in weights))


@contextlib.contextmanager
def _plain_exceptions():
    """Turn Keras' filter of tracebacks off.

    PyTorch ends the second computation by an exception as soon as it has all it needs. The filter would make a copy
    that holds on to itself, and to the tensors of its frames, until the next garbage collection.
    """
    was_on = keras.config.is_traceback_filtering_enabled()
    keras.config.disable_traceback_filtering()
    try:
        yield
    finally:
        if was_on:
            keras.config.enable_traceback_filtering()

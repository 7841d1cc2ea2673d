"""How BERT is optimised: the learning rate over time, and AdamW with the paper's exclusions."""

import keras
from keras import ops

# Keras compares these with "gamma" on JAX and PyTorch, but with "block_0/attention_norm/gamma:0" on TensorFlow.
UNDECAYED_PATTERNS = tuple(rf"(^|/){name}(:\d+)?$" for name in ("gamma", "beta", "bias"))


@keras.saving.register_keras_serializable(package="kbert")
class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Raise the learning rate from 0 to its peak over the warmup, then lower it to 0 along a straight line.

    The decay starts where the warmup ends, so the rate never jumps. (Google's script counts the decay from step 0, by
    which its rate drops by the warmup's share when the warmup ends.)

    Args:
        peak: float > 0, the highest learning rate.
        total_steps: int >= 1, updates in all; from then on the rate is 0.
        warmup_steps: int in [0, total_steps).

    Call arguments:
        step: int, updates made so far.

    Raises:
        ValueError: an argument is out of its range.

    Source: paper appendix A.2; google-research/bert `optimization.create_optimizer`.
    """

    def __init__(self, peak, total_steps, warmup_steps=0):
        if not peak > 0:
            raise ValueError(f"`peak` must be above 0. Received: peak={peak}.")
        if not 0 <= warmup_steps < total_steps:
            raise ValueError(
                "`warmup_steps` must be at least 0 and below `total_steps`. "
                f"Received: warmup_steps={warmup_steps}, total_steps={total_steps}."
            )
        self.peak = peak
        self.total_steps = total_steps
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = ops.cast(step, "float32")
        rising = step / max(1, self.warmup_steps)
        falling = (self.total_steps - step) / (self.total_steps - self.warmup_steps)
        return self.peak * ops.maximum(0.0, ops.where(step < self.warmup_steps, rising, falling))

    def get_config(self):
        return {"peak": self.peak, "total_steps": self.total_steps, "warmup_steps": self.warmup_steps}


@keras.saving.register_keras_serializable(package="kbert")
class BertAdamW(keras.optimizers.AdamW):
    """AdamW as BERT uses it: no decay of LayerNorms and biases, clipped by the global norm of all gradients.

    The exclusion belongs to the class, so that a model saved and loaded again keeps it. The update has Adam's bias
    correction, which Google's pretraining code leaves out.

    Args:
        learning_rate: float, or a schedule such as `WarmupLinearDecay`.
        weight_decay: float >= 0, decoupled.
        epsilon: float, outside the root.
        global_clipnorm: float > 0, or None for no clipping.
        **kwargs: to `keras.optimizers.AdamW`.

    Source: paper appendix A.2; google-research/bert `optimization.AdamWeightDecayOptimizer`.
    """

    def __init__(self, learning_rate=1e-4, weight_decay=0.01, epsilon=1e-6, global_clipnorm=1.0, **kwargs):
        super().__init__(
            learning_rate, weight_decay=weight_decay, epsilon=epsilon, global_clipnorm=global_clipnorm, **kwargs
        )
        self.exclude_from_weight_decay(var_names=UNDECAYED_PATTERNS)

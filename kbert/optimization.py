"""How BERT is optimised: the learning rate over time, and AdamW and LAMB with the paper's exclusions."""

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
class BertAdamW(keras.optimizers.Optimizer):
    """AdamW as BERT uses it: no decay of LayerNorms and biases, clipped by the global norm of all gradients.

    With m and v the running means of g and g^2, divided by 1 - beta^step if `bias_correction`:
    w <- w - learning_rate (m / (sqrt(v) + epsilon) + weight_decay w).

    Bias correction is what PyTorch's and Keras' AdamW do. Google's code has none, which makes the first thousand steps
    longer, the twelfth most: 6.6 times. The exclusion belongs to the class, so that a model saved and loaded again
    keeps it.

    With `gradient_accumulation_steps=N` an update takes the mean gradient of N batches, and a schedule counts updates,
    where Keras' own optimizers would give it the number of batches. The mean loss of a batch is over its own masked
    words: N batches equal one of N times the rows only if each has as many of them; otherwise a word in a batch with
    fewer weighs a little more.

    Args:
        learning_rate: float, or a schedule such as `WarmupLinearDecay`.
        weight_decay: float >= 0, decoupled.
        epsilon: float, outside the root.
        global_clipnorm: float > 0, or None for no clipping.
        bias_correction: bool. False: as Google pretrained.
        beta_1, beta_2: floats in [0, 1), how slowly m and v forget.
        **kwargs: to `keras.optimizers.Optimizer`.

    Source: paper appendix A.2; google-research/bert `optimization.AdamWeightDecayOptimizer`; Kingma and Ba 2015.
    """

    _steps_by_kernel = True

    def __init__(
        self,
        learning_rate=1e-4,
        weight_decay=0.01,
        epsilon=1e-6,
        global_clipnorm=1.0,
        bias_correction=True,
        beta_1=0.9,
        beta_2=0.999,
        **kwargs,
    ):
        super().__init__(learning_rate, weight_decay=weight_decay, global_clipnorm=global_clipnorm, **kwargs)
        self.epsilon = epsilon
        self.bias_correction = bias_correction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self._scale = 1.0  # Of the gradients, for one update.
        self._shared = None  # What all variables of a dtype have in common in one update.
        self.exclude_from_weight_decay(var_names=UNDECAYED_PATTERNS)

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(variables, ["momentum", "velocity"])

    def update_step(self, gradient, variable, learning_rate):
        """Move one variable, decay included."""
        length, decay = self._rates(variable, ops.cast(learning_rate, variable.dtype))
        if not self._has_kernels():
            step = self._step(gradient, variable, length)
            self.assign_sub(variable, ops.add(step, ops.multiply(variable, decay)) if self._decays(variable) else step)
            return
        from kbert.tensorflow_kernels import apply_adam

        index = self._get_variable_index(variable)
        m, v = self._momentums[index].value, self._velocities[index].value
        factor, epsilon = self._factor_and_epsilon(variable.dtype)
        length = ops.multiply(length, factor)
        apply_adam(variable, m, v, gradient, self._scale, length, decay, epsilon, self.beta_1, self.beta_2)

    def _rates(self, variable, learning_rate):
        """Return (length of Adam's step, share of the variable that decays)."""
        return learning_rate, learning_rate * self.weight_decay if self._decays(variable) else 0.0

    def _decays(self, variable):
        return self.weight_decay is not None and self._use_weight_decay(variable)

    def _apply_weight_decay(self, variables):
        pass  # It is part of the step.

    def _step(self, gradient, variable, length):
        """Return length m / (sqrt(v) + epsilon) with this gradient taken into m and v."""
        index = self._get_variable_index(variable)
        m, v = self._momentums[index], self._velocities[index]
        gradient = ops.cast(gradient, variable.dtype)
        self.assign_add(m, ops.multiply(ops.subtract(gradient, m), 1 - self.beta_1))
        self.assign_add(v, ops.multiply(ops.subtract(ops.square(gradient), v), 1 - self.beta_2))
        factor, epsilon = self._factor_and_epsilon(variable.dtype)
        length = ops.cast(ops.multiply(length, factor), variable.dtype)
        return ops.divide(ops.multiply(m, length), ops.add(ops.sqrt(v), ops.cast(epsilon, variable.dtype)))

    def _factor_and_epsilon(self, dtype):
        """Return the factor of the step's length, and epsilon, as scalars that hold the bias correction."""
        if not self.bias_correction:
            return 1.0, self.epsilon
        if self._shared is None:
            return self._corrections(dtype)
        if dtype not in self._shared:
            self._shared[dtype] = self._corrections(dtype)
        return self._shared[dtype]

    def _corrections(self, dtype):
        # On the two numbers, not on m and v, which are arrays: m / c1 / (sqrt(v / c2) + epsilon). In float32 at least:
        # a beta of 0.999 is 1 in bfloat16.
        precise = keras.backend.result_type(dtype, "float32")
        count = ops.cast(self.iterations + 1, precise)
        root = ops.sqrt(1 - ops.power(ops.cast(self.beta_2, precise), count))
        factor = root / (1 - ops.power(ops.cast(self.beta_1, precise), count))
        return factor, self.epsilon * root

    def _clip_gradients(self, grads):
        if self.clipnorm or not self.global_clipnorm:
            return super()._clip_gradients(grads)
        if _is_on_torch_cpu(grads):
            from kbert.torch_kernels import clip_by_global_norm

            return clip_by_global_norm(grads, self.global_clipnorm)
        if keras.backend.backend() != "tensorflow":
            return super()._clip_gradients(grads)
        from kbert.tensorflow_kernels import scale_to_norm

        grads, scale = scale_to_norm(grads, self.global_clipnorm)
        if not self._has_kernels():
            return [None if gradient is None else gradient * ops.cast(scale, gradient.dtype) for gradient in grads]
        self._scale = scale  # The step takes it along, rather than to write all gradients once more.
        return grads

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        if self._steps_by_kernel and _is_on_torch_cpu(grads):
            self._update_all(grads, trainable_variables, float(learning_rate))
        else:
            self._shared = {} if self._has_kernels() else None  # TensorFlow runs every operation it is told, each time.
            super()._backend_update_step(grads, trainable_variables, learning_rate)
        self._scale, self._shared = 1.0, None

    def _update_all(self, grads, variables, learning_rate):
        """Move all variables, with PyTorch on a CPU."""
        from kbert.torch_kernels import apply_adam

        factor, epsilon = (float(x) for x in self._factor_and_epsilon("float32"))
        updates = []
        for gradient, variable in zip(grads, variables, strict=True):
            index = self._get_variable_index(variable)
            m, v = self._momentums[index].value, self._velocities[index].value
            length, decay = self._rates(variable, learning_rate)
            updates.append((variable.value, m, v, gradient, length * factor, decay))
        apply_adam(updates, epsilon, self.beta_1, self.beta_2)

    def _has_kernels(self):
        # On several devices Keras hands over a part of each variable; the kernel would take it for the whole.
        is_tensorflow = keras.backend.backend() == "tensorflow"
        return self._steps_by_kernel and is_tensorflow and self._distribution_strategy.num_replicas_in_sync == 1

    def _get_current_learning_rate(self):
        # Keras would ask the schedule for the number of batches: `_iterations`, where `iterations` counts updates.
        if isinstance(self._learning_rate, keras.optimizers.schedules.LearningRateSchedule):
            return self._learning_rate(self.iterations)
        return super()._get_current_learning_rate()

    def get_config(self):
        own = ("epsilon", "bias_correction", "beta_1", "beta_2")
        return super().get_config() | {name: getattr(self, name) for name in own}


@keras.saving.register_keras_serializable(package="kbert")
class Lamb(BertAdamW):
    """LAMB: AdamW whose step on each weight matrix is as long as the learning rate times that matrix.

    With u = m / (sqrt(v) + epsilon) + weight_decay w: w <- w - learning_rate |w| / |u| u, and |w| / |u| is 1 where one
    of the norms is 0. LayerNorms and biases take Adam's step, neither decayed nor scaled. `keras.optimizers.Lamb` is
    another optimizer: it decays outside the ratio, scales LayerNorms and biases too, and has another epsilon.

    Args:
        learning_rate: float, or a schedule such as `WarmupLinearDecay`. For batches of thousands of rows; NVIDIA's
            phases take 6e-3 at 65,536 rows and 4e-3 at 32,768.
        **kwargs: as in `BertAdamW`.

    Source: You et al. 2020, algorithm 2; NVIDIA apex `FusedLAMB` with `use_nvlamb=False`, whose clipping by the global
    norm and excluded weights these are. With `weight_decay=0` the ratio stays, as in the paper; apex drops it then.
    """

    _steps_by_kernel = False  # There is none whose step is as long as the weights.

    def update_step(self, gradient, variable, learning_rate):
        """Move one variable, decay included."""
        step = self._step(gradient, variable, 1.0)
        if self._use_weight_decay(variable):
            if self.weight_decay is not None:
                step = ops.add(step, ops.multiply(variable, self.weight_decay))
            step = ops.multiply(step, _trust_ratio(variable, step))
        self.assign_sub(variable, ops.cast(learning_rate, variable.dtype) * step)


def _is_on_torch_cpu(grads):
    return keras.backend.backend() == "torch" and all(gradient is None or gradient.is_cpu for gradient in grads)


def _trust_ratio(weights, step):
    weight_norm, step_norm = (ops.sqrt(ops.sum(ops.square(x))) for x in (weights, step))
    both = ops.logical_and(weight_norm > 0, step_norm > 0)
    return ops.where(both, weight_norm / ops.where(both, step_norm, 1.0), 1.0)

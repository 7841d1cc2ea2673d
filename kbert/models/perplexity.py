"""How many words the model is in doubt between."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class Perplexity(keras.metrics.Mean):
    """Compute exp of the weighted mean cross entropy over all places seen so far.

    Call arguments (of `update_state`):
        y_true: int `[B, P]`, the original tokens.
        y_pred: float logits `[B, P, V]`.
        sample_weight: float `[B, P]`. 0 = the slot does not count.

    Source: paper section 5.2, table 6 ("LM ppl").
    """

    def update_state(self, y_true, y_pred, sample_weight=None):
        losses = ops.sparse_categorical_crossentropy(ops.cast(y_true, "int32"), y_pred, from_logits=True)
        return super().update_state(losses, sample_weight)

    def result(self):
        return ops.exp(super().result())

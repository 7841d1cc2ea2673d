"""What Keras does replica by replica under `tf.distribute.MirroredStrategy`, done over the whole batch instead.

Keras 3.15 averages the loss of a replica over its own masked words and then averages the replicas, so that a word
weighs more beside fewer others; and it clips the gradient of each replica before it adds them up. Each gives another
update than one device would make.
"""

import keras
import tensorflow as tf
from keras import ops

from kbert.models.cross_entropy import ClassLoss


class MeanOverReplicas(ClassLoss):
    """Cross entropy from logits, averaged by weight over the rows of all replicas.

    A replica returns its part of the mean: the parts add up to it, as Keras adds up the gradients. Keras' loss metrics
    take a replica's loss times the number of replicas for its mean, and average those: so they show the mean too.
    """

    def __init__(self):
        super().__init__(reduction="sum")

    def __call__(self, y_true, y_pred, sample_weight=None):
        """Return the weighted sum of this replica's rows over the weights of all: float32 `[]`, 0 without weights."""
        weights = ops.sum(sample_weight)
        replica = tf.distribute.get_replica_context()
        if replica is not None:  # None while Keras looks at the shapes.
            weights = replica.all_reduce(tf.distribute.ReduceOp.SUM, weights)
        return ops.divide_no_nan(super().__call__(y_true, y_pred, sample_weight), weights)


def summed_before_clipping(optimizer_class):
    """Return a subclass that clips the sum of all replicas' gradients, not each before the sum.

    Args:
        optimizer_class: subclass of `keras.optimizers.Optimizer`.
    """

    class Summed(optimizer_class):
        def _clip_gradients(self, grads):
            replica = tf.distribute.get_replica_context()
            return super()._clip_gradients(replica.all_reduce(tf.distribute.ReduceOp.SUM, list(grads)))

        def _all_reduce_sum_gradients(self, grads_and_vars):
            return grads_and_vars

    return Summed


class SpreadDropout(keras.callbacks.Callback):
    """Let every replica draw dropout of its own.

    Comes after `training.state.ReseedDropout` in the list of callbacks, which gives all replicas the same.
    """

    def on_train_batch_begin(self, batch, logs=None):
        if batch > 0:
            return
        for state in self.model.non_trainable_variables:
            if state.name == "seed_generator_state":
                for number, copy in enumerate(self.model.distribute_strategy.experimental_local_results(state.value)):
                    copy.assign_add([number, 0])

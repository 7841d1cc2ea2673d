"""What every model that is trained shares: `compile` without arguments is the task's usual loss."""

import keras

from kbert.models.frozen import freeze_layers, frozen_layers


class TaskTraining:
    """Give a model a default loss, and keep compile settings through save and load.

    A model says in `task_losses` which loss and metrics its outputs have.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.jit_compile = _faster_jit_compile()  # For `predict` without `compile`.

    def task_losses(self):
        """Return (losses, weighted metrics) by output name."""
        raise NotImplementedError

    def compile(self, optimizer="adamw", loss=None, weighted_metrics=None, jit_compile=None, **kwargs):
        """Configure `fit` with the task's loss unless told otherwise.

        Args:
            optimizer: as in `keras.Model.compile`; see `kbert.optimization.BertAdamW`.
            loss: None for the task's.
            weighted_metrics: None for the task's.
            jit_compile: None for the choice that starts and runs well everywhere: on for JAX, off for TensorFlow and
                PyTorch.
            **kwargs: to `keras.Model.compile`.
        """
        task_loss, task_metrics = self.task_losses()
        self._chooses_jit_compile = jit_compile is None
        super().compile(
            optimizer=optimizer,
            loss=task_loss if loss is None else loss,
            weighted_metrics=task_metrics if weighted_metrics is None else weighted_metrics,
            jit_compile=_faster_jit_compile() if jit_compile is None else jit_compile,
            **kwargs,
        )

    def make_train_function(self, force=False):
        """Make the function of a step, as Keras does, once the optimizer has its variables.

        Those that a first step makes would have TensorFlow trace it twice, some seconds each.
        """
        if keras.backend.backend() == "tensorflow" and not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)

    def get_compile_config(self):
        config = super().get_compile_config()
        # None stays None: the model may be loaded on another backend, where the choice is another.
        return config | {"jit_compile": None} if config and self._chooses_jit_compile else config

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        backbone = keras.saving.deserialize_keras_object(config.pop("backbone"), custom_objects=custom_objects)
        frozen = config.pop("frozen", ())
        return freeze_layers(cls(backbone, **config), frozen)

    def get_config(self):
        return {
            "backbone": keras.saving.serialize_keras_object(self.backbone),
            "name": self.name,
            "frozen": frozen_layers(self),
        }


def _faster_jit_compile():
    return keras.backend.backend() == "jax"


def checked_label_names(label_names, num_classes):
    """Return label names as a tuple; LABEL_0, LABEL_1, ... (Hugging Face's) for None.

    Raises:
        ValueError: `num_classes` is no int of 1 or more, or the names are not as many or not all different.
    """
    if isinstance(num_classes, bool) or not isinstance(num_classes, int) or num_classes < 1:
        raise ValueError(f"`num_classes` must be an int of 1 or more. Received: num_classes={num_classes!r}.")
    if label_names is None:
        return tuple(f"LABEL_{index}" for index in range(num_classes))
    if len(set(label_names)) != num_classes or len(label_names) != num_classes:
        raise ValueError(
            "`label_names` must hold `num_classes` different names. "
            f"Received: label_names={list(label_names)!r}, num_classes={num_classes}."
        )
    return tuple(label_names)

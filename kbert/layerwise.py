"""AdamW with a smaller learning rate for each layer further down."""

import re

import keras

from kbert.optimization import BertAdamW

_BLOCK = re.compile(r"(^|/)block_(\d+)/")


@keras.saving.register_keras_serializable(package="kbert")
class LayerwiseAdamW(BertAdamW):
    """`BertAdamW` whose learning rate shrinks from the head down to the embeddings.

    Heads, the pooler and the last block have the learning rate itself, block i of L that times
    `layer_decay`^(L - 1 - i), the embeddings that times `layer_decay`^L.

    Args:
        learning_rate: float, or a schedule.
        num_layers: int, L, of the model that is trained.
        layer_decay: float in (0, 1].
        **kwargs: as in `BertAdamW`.

    Raises:
        ValueError: `layer_decay` is out of its range; in `build`, the model has another number of blocks.

    Source: Sun et al. 2019, "How to Fine-Tune BERT for Text Classification?", section 5.3.4.
    """

    def __init__(self, learning_rate=1e-4, num_layers=12, layer_decay=0.95, **kwargs):
        if not 0 < layer_decay <= 1:
            raise ValueError(f"`layer_decay` must be above 0 and at most 1. Received: layer_decay={layer_decay}.")
        super().__init__(learning_rate, **kwargs)
        self.num_layers = num_layers
        self.layer_decay = layer_decay

    def build(self, variables):
        if not self.built:
            self._check_blocks(variables)
            self._scales = [self.layer_decay ** self._depth(variable.path) for variable in variables]
        super().build(variables)

    def _check_blocks(self, variables):
        numbers = [int(block[2]) for variable in variables if (block := _BLOCK.search(variable.path))]
        if numbers and max(numbers) != self.num_layers - 1:
            raise ValueError(
                "`num_layers` must be that of the model that is trained. "
                f"Received: num_layers={self.num_layers}, blocks up to number {max(numbers)}, counted from 0."
            )

    def _depth(self, path):
        if re.search(r"(^|/)embeddings/", path):
            return self.num_layers
        block = _BLOCK.search(path)
        return 0 if block is None else self.num_layers - 1 - int(block[2])

    def _rates(self, variable, learning_rate):
        return super()._rates(variable, learning_rate * self._scales[self._get_variable_index(variable)])

    def get_config(self):
        return super().get_config() | {"num_layers": self.num_layers, "layer_decay": self.layer_decay}

"""What the masking of a run really does: the shares of a sample of its batches."""

import keras
import numpy as np

SAMPLE_TOKENS = 100_000


def masking_shares(batches, mask_token_id, num_tokens=SAMPLE_TOKENS):
    """Count what became of the tokens of batches.

    Args:
        batches: iterable of (inputs, targets, weights) as NumPy arrays, as `kbert.data.schema.batch_spec` describes.
        mask_token_id: int, id of [MASK].
        num_tokens: int, counting stops after the batch that reaches it.

    Returns:
        dict: `tokens`, how many were counted, special tokens included, without padding; `selected`, the share of them;
        `mask`, `random` and `kept`, shares of the selected by what stands there: [MASK], another token, the same one.
    """
    tokens, shown, original = 0, [], []
    for inputs, targets, weights in batches:
        real = weights["mlm"] > 0
        tokens += int(inputs["padding_mask"].sum())
        shown.append(np.take_along_axis(inputs["token_ids"], inputs["mask_positions"], axis=1)[real])
        original.append(targets["mlm"][real])
        if tokens >= num_tokens:
            break
    shown, original = np.concatenate(shown), np.concatenate(original)
    is_mask, is_kept = shown == mask_token_id, shown == original
    fates = {"mask": is_mask, "random": ~is_mask & ~is_kept, "kept": is_kept & ~is_mask}
    shares = {name: int(those.sum()) / max(1, shown.size) for name, those in fates.items()}
    return {"tokens": tokens, "selected": shown.size / max(1, tokens)} | shares


class PrintMasking(keras.callbacks.Callback):
    """Print the shares of the run's own first batches after its first epoch.

    Args:
        training: `tf.data.Dataset`, as `fit` reads it; a second reader sees the same batches.
        mask_token_id: int, id of [MASK].
    """

    def __init__(self, training, mask_token_id):
        super().__init__()
        self.training = training
        self.mask_token_id = mask_token_id
        self.is_printed = False

    def on_epoch_end(self, epoch, logs=None):
        if self.is_printed:
            return
        self.is_printed = True
        batches = self.training.take(self.params["steps"]).as_numpy_iterator()
        shares = masking_shares(batches, self.mask_token_id)
        print(
            f"masking, seen in {shares['tokens']:,} tokens: {shares['selected']:.1%} selected, of these "
            f"{shares['mask']:.1%} [MASK], {shares['random']:.1%} another token, {shares['kept']:.1%} kept"
        )

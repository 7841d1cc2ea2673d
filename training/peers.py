"""Time one pretraining step of kbert, KerasHub or transformers in this process.

    KERAS_BACKEND=tensorflow python -m training.peers kbert mixed_bfloat16 4x256:32x128 10

Same work for each: random tokens, 20 masked places a row (77 above length 128), AdamW, dropout 0.1. KerasHub has no
next-sentence head and trains without it. "kbert-remat" computes each block a second time. "peak" in the place of a name
times a matrix product instead. The last line is one JSON object.
"""

import functools
import json
import statistics
import sys
import time

import numpy as np

from training.peak_memory import peak_gib
from training.step_work import VOCABULARY_SIZE, Work

PEAK_SIZE = 4096  # Rows and columns of the matrices of "peak".


def make_batch(work):
    """Return random inputs, targets and weights as NumPy arrays, by kbert's names."""
    rng = np.random.default_rng(0)
    batch_size, length, num_masks = work.rows, work.length, work.num_masks
    token_ids = rng.integers(1000, 30000, (batch_size, length)).astype("int32")
    mask_positions = np.sort(rng.permuted(np.tile(np.arange(length), (batch_size, 1)), axis=1)[:, :num_masks]).astype(
        "int32"
    )
    inputs = {
        "token_ids": token_ids,
        "segment_ids": (np.arange(length) >= length // 2).astype("int32") * np.ones_like(token_ids),
        "padding_mask": np.ones_like(token_ids),
        "mask_positions": mask_positions,
    }
    targets = {
        "mlm": np.take_along_axis(token_ids, mask_positions, 1),
        "nsp": rng.integers(0, 2, batch_size).astype("int32"),
    }
    weights = {"mlm": np.ones(mask_positions.shape, "float32"), "nsp": np.ones(batch_size, "float32")}
    return inputs, targets, weights


def kbert_step(precision, work, batch, remat=False):
    """Return a function that makes one step of kbert."""
    from kbert.config import BertConfig
    from kbert.models import BertBackbone, BertPretrainer
    from kbert.optimization import BertAdamW

    model = BertPretrainer(BertBackbone(BertConfig.named(f"{work.layers}x{work.width}"), dtype=precision))
    model.backbone.remat = remat
    model.compile(BertAdamW(1e-4))
    inputs, targets, weights = batch
    return lambda: model.train_on_batch(inputs, targets, weights)


def keras_hub_step(precision, work, batch):
    """Return a function that makes one step of KerasHub's `BertMaskedLM`."""
    import keras
    import keras_hub

    inputs, targets, weights = batch
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=VOCABULARY_SIZE,
        num_layers=work.layers,
        num_heads=work.width // 64,
        hidden_dim=work.width,
        intermediate_dim=4 * work.width,
        max_sequence_length=512,
        dtype=precision,
    )
    model = keras_hub.models.BertMaskedLM(backbone=backbone, preprocessor=None)
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-4, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=keras.backend.backend() == "jax",
        weighted_metrics=[],
    )
    return lambda: model.train_on_batch(inputs, targets["mlm"], weights["mlm"])


def transformers_step(precision, work, batch):
    """Return a function that makes one step of transformers' `BertForPreTraining` on PyTorch."""
    import torch
    import transformers

    inputs, targets, _ = batch
    config = transformers.BertConfig(
        num_hidden_layers=work.layers,
        hidden_size=work.width,
        num_attention_heads=work.width // 64,
        intermediate_size=4 * work.width,
        attn_implementation="sdpa",
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = transformers.BertForPreTraining(config).train().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.from_numpy(inputs["token_ids"]).long()
    positions = torch.from_numpy(inputs["mask_positions"]).long()
    labels = torch.full_like(tokens, -100).scatter(1, positions, tokens.gather(1, positions))
    arguments = {
        "input_ids": tokens,
        "attention_mask": torch.from_numpy(inputs["padding_mask"]),
        "token_type_ids": torch.from_numpy(inputs["segment_ids"]),
        "labels": labels,
        "next_sentence_label": torch.from_numpy(targets["nsp"]).long(),
    }

    arguments = {name: tensor.to(device) for name, tensor in arguments.items()}
    # On a CPU compiling takes a C++ compiler, which not every machine has.
    forward = torch.compile(model) if device == "cuda" else model

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16, enabled=precision == "mixed_bfloat16"):
            loss = forward(**arguments).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()  # A GPU is waited for.

    return step


def matrix_product(precision):
    """Return a function that multiplies two large matrices."""
    import keras
    from keras import ops

    keras.config.set_dtype_policy(precision)
    dtype = keras.config.dtype_policy().compute_dtype
    left, right = (keras.random.uniform((PEAK_SIZE, PEAK_SIZE), dtype=dtype, seed=seed) for seed in (0, 1))
    return lambda: float(ops.convert_to_numpy(ops.cast(ops.matmul(left, right)[0, 0], "float32")))


STEPS = {
    "kbert": kbert_step,
    "kbert-remat": functools.partial(kbert_step, remat=True),
    "keras-hub": keras_hub_step,
    "transformers": transformers_step,
}


def main(argv):
    """Time the steps and print one JSON line."""
    name, precision, work, steps = argv
    work = Work.read(work)
    step = matrix_product(precision) if name == "peak" else STEPS[name](precision, work, make_batch(work))
    for _ in range(2):  # The first builds and compiles.
        step()
    seconds = []
    for _ in range(int(steps)):
        started = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - started)
    median = statistics.median(seconds)
    result = {
        "seconds_per_step": median,
        "fastest": min(seconds),
        "slowest": max(seconds),
        "peak_gib": peak_gib(),
    }
    if name == "peak":
        result["flops_per_second"] = 2 * PEAK_SIZE**3 / median
    else:
        result["tokens_per_second"] = work.rows * work.length / median
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])

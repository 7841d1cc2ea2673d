"""Time one pretraining step of kbert, KerasHub or transformers in this process.

    KERAS_BACKEND=tensorflow python -m training.peers kbert mixed_bfloat16 4 256 32 128 10

Same work for each: random tokens, 20 masked places a row (77 above length 128), AdamW, dropout 0.1. KerasHub has no
next-sentence head and trains without it. The last line is one JSON object.
"""

import json
import resource
import statistics
import sys
import time

import numpy as np


def make_batch(batch_size, length):
    """Return random inputs, targets and weights as NumPy arrays, by kbert's names."""
    rng = np.random.default_rng(0)
    num_masks = 20 if length <= 128 else 77
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


def kbert_step(precision, layers, width, batch):
    """Return a function that makes one step of kbert."""
    from kbert.config import BertConfig
    from kbert.models import BertBackbone, BertPretrainer
    from kbert.optimization import BertAdamW

    model = BertPretrainer(BertBackbone(BertConfig.named(f"{layers}x{width}"), dtype=precision))
    model.compile(BertAdamW(1e-4))
    inputs, targets, weights = batch
    return lambda: model.train_on_batch(inputs, targets, weights)


def keras_hub_step(precision, layers, width, batch):
    """Return a function that makes one step of KerasHub's `BertMaskedLM`."""
    import keras
    import keras_hub

    inputs, targets, weights = batch
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=30522,
        num_layers=layers,
        num_heads=width // 64,
        hidden_dim=width,
        intermediate_dim=4 * width,
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


def transformers_step(precision, layers, width, batch):
    """Return a function that makes one step of transformers' `BertForPreTraining` on PyTorch."""
    import torch
    import transformers

    inputs, targets, _ = batch
    config = transformers.BertConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        attn_implementation="sdpa",
    )
    model = transformers.BertForPreTraining(config).train()
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

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "mixed_bfloat16"):
            loss = model(**arguments).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


STEPS = {"kbert": kbert_step, "keras-hub": keras_hub_step, "transformers": transformers_step}


def main(argv):
    """Time the steps and print one JSON line."""
    name, precision, *numbers = argv
    layers, width, batch_size, length, steps = map(int, numbers)
    step = STEPS[name](precision, layers, width, make_batch(batch_size, length))
    for _ in range(2):  # The first builds and compiles.
        step()
    seconds = []
    for _ in range(steps):
        started = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - started)
    median = statistics.median(seconds)
    result = {
        "tokens_per_second": batch_size * length / median,
        "seconds_per_step": median,
        "fastest": min(seconds),
        "slowest": max(seconds),
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])

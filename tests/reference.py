"""BERT's forward pass and losses in plain NumPy, after google-research/bert: the independent oracle of the tests."""

import math

import numpy as np


def gelu_erf(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {"gelu_erf": gelu_erf, "gelu_tanh": gelu_tanh, "relu": lambda x: np.maximum(x, 0)}


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def layer_norm(x, weights, name, epsilon):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def dense(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def forward(weights, config, inputs):
    """Return hidden states, attention maps, pooled output and both logits, from Hugging Face's weight names."""
    weights = {name: value.astype("float64") for name, value in weights.items()}
    token_ids, segment_ids = inputs["token_ids"], inputs["segment_ids"]
    batch, length = token_ids.shape
    epsilon = config.layer_norm_epsilon
    head_dim = config.hidden_dim // config.num_heads
    x = weights["bert.embeddings.word_embeddings.weight"][token_ids]
    x = x + weights["bert.embeddings.token_type_embeddings.weight"][segment_ids]
    x = x + weights["bert.embeddings.position_embeddings.weight"][:length]
    x = layer_norm(x, weights, "bert.embeddings.LayerNorm", epsilon)
    hidden_states, attention_maps = [x], []
    bias = (1.0 - inputs["padding_mask"][:, None, None, :]) * -10000.0

    def heads(y):
        return y.reshape(batch, length, config.num_heads, head_dim).transpose(0, 2, 1, 3)

    for index in range(config.num_layers):
        block = f"bert.encoder.layer.{index}"
        query, key, value = (
            heads(dense(x, weights, f"{block}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        maps = softmax(query @ key.transpose(0, 1, 3, 2) / math.sqrt(head_dim) + bias)
        context = (maps @ value).transpose(0, 2, 1, 3).reshape(batch, length, -1)
        attended = dense(context, weights, f"{block}.attention.output.dense")
        x = layer_norm(x + attended, weights, f"{block}.attention.output.LayerNorm", epsilon)
        inner = ACTIVATIONS[config.activation](dense(x, weights, f"{block}.intermediate.dense"))
        x = layer_norm(
            x + dense(inner, weights, f"{block}.output.dense"), weights, f"{block}.output.LayerNorm", epsilon
        )
        hidden_states.append(x)
        attention_maps.append(maps)
    pooled = np.tanh(dense(x[:, 0], weights, "bert.pooler.dense"))
    masked = x[np.arange(batch)[:, None], inputs["mask_positions"]]
    masked = ACTIVATIONS[config.activation](dense(masked, weights, "cls.predictions.transform.dense"))
    masked = layer_norm(masked, weights, "cls.predictions.transform.LayerNorm", epsilon)
    mlm = masked @ weights["bert.embeddings.word_embeddings.weight"].T + weights["cls.predictions.bias"]
    nsp = dense(pooled, weights, "cls.seq_relationship")
    return {
        "hidden_states": hidden_states,
        "attention_maps": attention_maps,
        "sequence_output": x,
        "pooled_output": pooled,
        "mlm": mlm,
        "nsp": nsp,
    }


def losses(logits, targets, mask_weights):
    """Return (L_MLM, L_NSP): a mean over the used slots, and a plain mean."""

    def cross_entropy(scores, labels):
        return -np.log(np.take_along_axis(softmax(scores), labels[..., None], -1))[..., 0]

    mlm = cross_entropy(logits["mlm"], targets["mlm"])
    return (mlm * mask_weights).sum() / mask_weights.sum(), cross_entropy(logits["nsp"], targets["nsp"]).mean()

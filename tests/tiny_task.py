"""A task that a tiny model learns in seconds, and its encoder's folder."""

import keras
import numpy as np
from tiny_model import CONFIG, make_tokenizer

from kbert.convert import save_checkpoint
from kbert.models import BertBackbone, BertPretrainer

WORDS = ["the", "sat", "on", "a", "mat", "ran", ".", ",", "home"]


def save_encoder(folder, **config_changes):
    keras.utils.set_random_seed(5)
    config = CONFIG.replace(num_layers=1, hidden_dim=24, initializer_stddev=0.2, dropout=0.0, attention_dropout=0.0)
    save_checkpoint(BertPretrainer(BertBackbone(config.replace(**config_changes))), make_tokenizer(), folder)
    return str(folder)


def animal_sentences(number, seed):
    """(sentence, "cat" or "dog"): the animal stands somewhere among other words."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        words = list(rng.choice(WORDS, rng.integers(1, 8)))
        animal = str(rng.choice(["cat", "dog"]))
        words.insert(int(rng.integers(0, len(words) + 1)), animal)
        yield " ".join(words), animal


def write_animals(folder, train=160, dev=40, test=10):
    for stem, number, seed in (("train", train, 1), ("dev", dev, 2), ("test", test, 3)):
        lines = [f"{text}\t{animal}\n" for text, animal in animal_sentences(number, seed)]
        (folder / f"{stem}.tsv").write_text("text\tlabel\n" + "".join(lines))
    return str(folder)

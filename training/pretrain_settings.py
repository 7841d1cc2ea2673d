"""What can be set in a pretraining run."""

import dataclasses

from training.arguments import setting

PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The command line of training/pretrain.py."""

    data: tuple = setting(text="folders that training/prepare.py wrote, with one vocabulary; their rows are mixed")
    output: str = setting("runs/pretrain", "folder of the checkpoint and of everything about the run")
    size: str = setting("tiny", "tiny, mini, small, medium, base, large or LAYERSxWIDTH; ignored with --init")
    init: str = setting(None, "checkpoint folder or preset to start from; missing heads start random")
    precision: str = setting("float32", "mixed_bfloat16 where the processor has it", choices=PRECISIONS)
    remat: bool = setting(
        False, "compute the encoder's activations twice rather than keep them: less memory, more time"
    )
    batch_size: int = setting(32, "rows a batch")
    devices: int = setting(1, "devices that share each batch, of all processes together: docs/scaling.md")
    accumulate: int = setting(1, "batches an update; memory is needed for one")
    steps: int = setting(None, "updates in all; or give --epochs, --tokens or --minutes; 10000 steps without any")
    epochs: float = setting(None, "passes over the rows in all")
    tokens: float = setting(None, "tokens to read in all, special ones included, padding not; 1e9 will do")
    minutes: float = setting(None, "time in all: the first start measures how many updates that is, and keeps to it")
    optimizer: str = setting("adamw", "lamb is for batches of thousands of rows", choices=("adamw", "lamb"))
    learning_rate: float = setting(1e-4, "highest learning rate")
    warmup_steps: int = setting(None, "updates up to the highest rate; a tenth of all if not given")
    weight_decay: float = setting(0.01, "of all weights but LayerNorms and biases")
    no_bias_correction: bool = setting(False, "Adam's first steps as in Google's code, which are larger")
    no_dropout: bool = setting(False, "train without dropout (one pass over the text); config.json keeps its rates")
    mask_selection_length: int = setting(20, "mask slots a row: 20 for 128 tokens, 77 for 512")
    mask_selection_rate: float = setting(0.15, "share of the tokens that is selected, up to the slots")
    mask_token_rate: float = setting(0.8, "share of the selected that becomes [MASK]")
    random_token_rate: float = setting(0.1, "share of the selected that becomes a random token; the rest stays")
    whole_words: bool = setting(False, "select all pieces of a word or none")
    left_to_right: bool = setting(
        False, "guess each next token from those before it, as in the paper's ablation, instead of masked words"
    )
    long_data: tuple = setting(None, "folders of long rows for the last part of the updates, as in the paper")
    long_share: float = setting(0.1, "that part of the updates")
    long_batch_size: int = setting(None, "rows a batch of --long_data; --batch_size if not given")
    long_mask_selection_length: int = setting(77, "mask slots a row of --long_data")
    save_every: int = setting(500, "updates between two saves; also what one line of history.csv averages over")
    held_out_batches: int = setting(50, "held-out batches for the check at each save; 0 for none until the end")
    seed: int = setting(0, "of weights, dropout, order and masks")

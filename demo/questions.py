"""How a tab puts a question to a model: one at a time, of bounded length, and a refusal is a sentence."""

import functools

import gradio as gr

from demo.bars import refusal_card

# Bounds what the tokenizer reads. The model reads less: a pair must fit it, and of a longer text with masks it reads
# the words round each mask.
MAX_CHARACTERS = 10_000

# Bounds the work of one question: each mask of a text that is longer than the model takes a pass of its own.
MAX_MASKS = 20

# Every question waits in one queue: a forward pass already takes all cores, and two would only slow each other down.
MODEL_QUEUE = {"concurrency_id": "model", "concurrency_limit": 1}

# What a person asks while an answer is on its way is asked after it; Gradio would drop it, and leave the old answer.
PAGE_QUESTION = MODEL_QUEUE | {
    "trigger_mode": "always_last",
    "show_progress": "minimal",
    "api_visibility": "private",
}


def check_texts(*texts, most=MAX_CHARACTERS):
    """Raise ValueError unless each text is a str of at most `most` characters."""
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"A text must be a string. Received: {type(text).__name__}. Send plain text.")
        if len(text) > most:
            raise ValueError(
                f"A text must have at most {most:,} characters. "
                f"Received: {len(text):,} characters. Shorten it, or ask part by part."
            )


def check_masks(text):
    """Raise ValueError unless a text has at most `MAX_MASKS` masks."""
    if text.count("[MASK]") > MAX_MASKS:
        raise ValueError(
            f"A text must have at most {MAX_MASKS} masks. Received: {text.count('[MASK]')} masks. Ask part by part."
        )


def answer_on_page(say):
    """Make a function that returns HTML return its ValueError as HTML too, in the language of the `Words`."""

    def decorate(answer):
        @functools.wraps(answer)
        def answer_or_refuse(*values):
            try:
                return answer(*values)
            except ValueError as error:
                return refusal_card(say, error)

        return answer_or_refuse

    return decorate


def answer_to_program(answer, api_name):
    """Publish a typed function as the endpoint `api_name`; its ValueError reaches the caller as the same sentence."""

    @functools.wraps(answer)
    def answer_or_raise(*values):
        try:
            return answer(*values)
        except ValueError as error:
            raise gr.Error(str(error), print_exception=False) from error

    gr.api(answer_or_raise, api_name=api_name, **MODEL_QUEUE)

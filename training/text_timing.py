"""How long a question about texts takes, and the pipeline of transformers that is asked the same."""

import statistics
import time


def median_milliseconds(ask, texts, size, seconds):
    """Return the median milliseconds of a call with `size` texts, after a first round.

    Args:
        ask: function of a list of str.
        texts: list of str, gone through again and again.
        size: int, texts a call.
        seconds: float, for how long; at least one round.
    """
    batches = [(texts * size)[start : start + size] for start in range(0, len(texts), size)]
    for batch in batches:
        ask(batch)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < len(batches):
        start = time.perf_counter()
        ask(batches[len(times) % len(batches)])
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def fill_mask_pipeline(model, tokenizer, top_k=5):
    """Return a function from texts with a mask each to the most probable word of each, by transformers' pipeline.

    Args:
        model: `transformers.BertForMaskedLM`.
        tokenizer: `transformers.BertTokenizerFast`.
        top_k: int, words a mask that the pipeline makes.
    """
    import transformers

    pipeline = transformers.pipeline("fill-mask", model=model, tokenizer=tokenizer)

    def ask(texts):
        answers = pipeline(texts, top_k=top_k, batch_size=len(texts))
        answers = answers if len(texts) > 1 else [answers]  # It unpacks a list of one.
        return [tokenizer.convert_ids_to_tokens(words[0]["token"]) for words in answers]

    return ask

"""Where are the masks of a text, and how is it written with words in their place?"""

import dataclasses

from kbert.inference.continuations import join_to_masks
from kbert.inference.rows import pack_rows

MASK = "[MASK]"


@dataclasses.dataclass(frozen=True)
class MaskedText:
    """A text with masks, and its row of tokens.

    Attributes:
        text: str.
        token_ids: tuple of int, [CLS] and [SEP] included; not cut.
        offsets: list of (start, end), characters of the text, one a token.
        positions: list of int, the places of the masks in `token_ids`.
    """

    text: str
    token_ids: tuple
    offsets: list
    positions: list

    def fill(self, words):
        """Return the text with words in place of its masks and all else as it was written.

        Args:
            words: dict of the number of a mask, from 0, to its word. Other masks stay. A word that starts with "##"
                is joined to what stands before it.
        """
        text, end_of_last = "", 0
        for number, word in sorted(words.items()):
            start, end = self.offsets[self.positions[number]]
            text += self.text[end_of_last:start]
            text = text.rstrip() + word[2:] if word.startswith("##") and word != "##" else text + word
            end_of_last = end
        return text + self.text[end_of_last:]


def read_masked_texts(tokenizer, texts):
    """Return the `MaskedText` of each text. Letters right behind a mask continue its word; see `join_to_masks`.

    Raises:
        ValueError: a text is empty or has no mask.
    """
    mask_id = tokenizer.special_token_ids[MASK]
    masked_texts = []
    for text, row in zip(texts, pack_rows(tokenizer, texts), strict=True):
        row = join_to_masks(tokenizer, text, row)
        positions = [position for position, token_id in enumerate(row.token_ids) if token_id == mask_id]
        if not positions:
            raise ValueError(
                f"A text must hold at least one {MASK}. Received: {text[:80]!r}. Write {MASK} where a word is missing."
            )
        masked_texts.append(MaskedText(text, tuple(row.token_ids), row.offsets, positions))
    return masked_texts

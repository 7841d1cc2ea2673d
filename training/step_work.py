"""What a pretraining step has to do: its sizes, and how many multiplications and additions that takes."""

import dataclasses
import re

VOCABULARY_SIZE = 30522


@dataclasses.dataclass(frozen=True)
class Work:
    """A step of a BERT: layers and width of the model, rows and length of the batch."""

    layers: int
    width: int
    rows: int
    length: int

    @classmethod
    def read(cls, text):
        """Return the `Work` of a text such as "12x768:8x128".

        Raises:
            ValueError: the text is none, or the width is no multiple of a head's 64.
        """
        found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*):([1-9]\d*)x([1-9]\d*)", text)
        if found is None or int(found[2]) % 64 or int(found[4]) > 512:
            raise ValueError(
                "Work must be LAYERSxWIDTH:ROWSxLENGTH, such as 12x768:8x128, the width a multiple of 64 and the "
                f"length at most 512. Received: {text}."
            )
        return cls(*map(int, found.groups()))

    def __str__(self):
        return f"{self.layers}x{self.width}:{self.rows}x{self.length}"

    @property
    def num_masks(self):
        """Masked places of a row, as in the paper's two phases."""
        return 20 if self.length <= 128 else 77

    @property
    def flops(self):
        """Multiplications and additions of the matrix products of a step, forward once and backward twice.

        Each block has four products of D x D and two of D x 4 D a token, and two of T x D a token in its attention;
        the head of masked words has one of D x D and one of D x V a masked place.
        """
        block = 2 * 12 * self.width**2 + 4 * self.length * self.width
        head = 2 * (self.width**2 + self.width * VOCABULARY_SIZE)
        return 3 * self.rows * (self.length * self.layers * block + self.num_masks * head)

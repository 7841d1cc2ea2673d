"""How the paper fine-tunes."""

import dataclasses

# The paper's appendix A.3: every combination is tried, and the best on dev is kept.
GRID = {"batch_size": (16, 32), "learning_rate": (5e-5, 3e-5, 2e-5), "epochs": (2, 3, 4)}


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Settings of a run.

    Source: paper sections 4.1 to 4.4 and appendix A.3. For GLUE the paper chooses the learning rate on dev.
    """

    batch_size: int = 32
    learning_rate: float = 3e-5
    epochs: int = 3
    max_sequence_length: int = 128

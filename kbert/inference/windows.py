"""Which part of a long text does the model read?"""


def cut_window(token_ids, position, max_sequence_length):
    """Cut the tokens round one place out of a row that is longer than the model.

    The place stands in the middle of the window, or as near to it as the ends of the text allow; [CLS] and [SEP]
    stand round the window. A row that fits is returned whole.

    Args:
        token_ids: sequence of int, [CLS] first and [SEP] last.
        position: int, the place; neither the first nor the last of the row.
        max_sequence_length: int >= 3.

    Returns:
        (tuple of int, int, int): the window, the place in it, and how many tokens of the text were cut before it.
    """
    token_ids = tuple(token_ids)
    if len(token_ids) <= max_sequence_length:
        return token_ids, position, 0
    room = max_sequence_length - 2
    skipped = min(max(position - 1 - room // 2, 0), len(token_ids) - 2 - room)
    window = (token_ids[0], *token_ids[1 + skipped : 1 + skipped + room], token_ids[-1])
    return window, position - skipped, skipped

"""Split text into sentences."""

import re

import sentencex

LANGUAGES = ("en", "ko")

# What sentencex splits wrongly in Korean. A closing mark belongs to what it closes: "(그는 갔다." + ") 그 뒤".
_KOREAN_CLOSING = re.compile(r"[)\]”’」』》〉]+\s*")
# An opening quote belongs to what it opens: "그는 갔다. '" + "마'는 남았다."
_KOREAN_OPENING = re.compile(r"(?<=\s)[\"']$")
# Dates and numbered items go on: "1919. 3. 1. 출생". So do quotations, without a blank after the closing mark, with the
# particle that reports them: "가자."라고 했다.
_KOREAN_UNFINISHED = re.compile(r"(?:(?:^|\s)\d+\.\s*|[\"')\]”’」』》〉])$")


def split_sentences(text: str, language: str = "en") -> list[str]:
    """Split paragraphs into sentences with the rules of `sentencex`.

    A sentence never crosses a line. Text without end marks is one sentence, however long.

    Args:
        text: str, a paragraph a line.
        language: "en" or "ko".
    Returns:
        list of str, none empty or with blanks at its ends.
    Raises:
        ValueError: another `language`.
    Example:
        >>> split_sentences("Dr. Smith left the U.S. in May. Why?")
        ['Dr. Smith left the U.S. in May.', 'Why?']
        >>> split_sentences('그는 "가자."라고 했다. 1919. 3. 1.의 일이다.', "ko")
        ['그는 "가자."라고 했다.', '1919. 3. 1.의 일이다.']
    """
    if language not in LANGUAGES:
        raise ValueError(f"`language` must be one of {', '.join(LANGUAGES)}. Received: language={language!r}.")
    sentences = []
    for paragraph in text.split("\n"):
        segments = sentencex.segment(language, paragraph)
        if language == "ko":
            segments = _repair_korean(segments)
        sentences += [sentence for segment in segments if (sentence := segment.strip())]
    return sentences


def _repair_korean(segments):
    repaired = [""]
    for segment in segments:
        if closing := _KOREAN_CLOSING.match(segment):
            repaired[-1] += closing[0]
            segment = segment[closing.end() :]
        if opening := _KOREAN_OPENING.search(repaired[-1]):
            repaired[-1] = repaired[-1][: opening.start()]
            repaired.append(opening[0] + segment)
        elif _KOREAN_UNFINISHED.search(repaired[-1]):
            repaired[-1] += segment
        else:
            repaired.append(segment)
    return repaired

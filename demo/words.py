"""What the page says, in the language of the person who reads it."""

import functools
import pathlib
import re
import tomllib

LANGUAGES = {"en": "English", "ko": "한국어"}


class Words:
    """The words of `words.toml` in one language.

    Args:
        language: key of `LANGUAGES`.
    """

    def __init__(self, language):
        self.language = language

    def __call__(self, key, **values):
        """Return a str of the table.

        Args:
            key: str, "section.name" in `words.toml`.
            **values: what fills the {names} of its text.
        """
        section, name = key.split(".")
        return _table()[section][name][self.language].format(**values)

    def refusal(self, error):
        """Return the sentence of a ValueError in this language; an unknown one is quoted."""
        said = str(error)
        if self.language == "en":
            return said
        other, *known = _table()["refusals"].values()
        for sentence in (*known, other):
            if match := re.fullmatch(sentence["en"], said, re.DOTALL):
                return sentence[self.language].format(said, *match.groups())

    def mine_first(self, languages):
        """Return languages as a list, the page's own in front if it is one of them."""
        return sorted(languages, key=lambda language: language != self.language)


@functools.cache
def _table():
    return tomllib.loads(pathlib.Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))

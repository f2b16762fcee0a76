"""What is sought in a text without going through all of it.

Some 380 triggers are sought in every file, and most are in few. A text is asked for the words of a trigger first;
only where they are all found, for the trigger itself.
"""

from __future__ import annotations

import re
import string
from functools import cached_property, lru_cache

_WORD = re.compile(r"\w+", re.ASCII)
_IN_WORDS = f"{string.ascii_letters}{string.digits}_".encode()
_WORDS_ONLY = bytes(sign if sign in _IN_WORDS else ord(" ") for sign in range(256))
"""For `bytes.translate`, which takes a thirtieth of the time of `str.translate`."""


class Vocabulary:
    """The words of all texts that were asked so far, and in which of them is what was sought.

    The files of a project share most of their words: each is looked through once, and not once for each file.
    """

    def __init__(self) -> None:
        self._words: set[str] = set()
        self._holding: dict[str, set[str]] = {}
        """What was sought -> the words that hold it."""

    def words(self, text: str) -> set[str]:
        """The runs of ASCII letters, digits and `_` of a text, each once."""
        found = set(text.encode("utf-8", "surrogatepass").translate(_WORDS_ONLY).decode("ascii").split())
        new = found - self._words
        self._words |= new
        joined = " ".join(new)
        for sought, words in self._holding.items():
            if sought in joined:
                words.update(word for word in new if sought in word)
        return found

    def holding(self, sought: str) -> set[str]:
        """The words that hold what is a word itself, or a part of one; not the caller's to change."""
        if sought not in self._holding:
            self._holding[sought] = {word for word in self._words if sought in word}
        return self._holding[sought]


class TextParts:
    """Stands in for a text where it is asked what it holds."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._words = vocabulary.words(text)

    def __contains__(self, sought: str) -> bool:
        words, called = _parts(sought)
        for word in words:
            if self._vocabulary.holding(word).isdisjoint(self._words):
                return False
            if word == sought:
                return True
        return sought in (self._called if called else self._text)

    @cached_property
    def _called(self) -> str:
        """What stands before each bracket, back to a blank: a twentieth of the text."""
        before = {part.rpartition(" ")[2] for part in self._text.split("(")[:-1]}
        return "".join(f"{part}(" for part in before)


@lru_cache(4096)
def _parts(sought: str) -> tuple[list[str], bool]:
    """The words in what is sought, the longest first, as few texts hold it.

    And whether it ends where arguments begin: `.item(`, `torch.arange(`.
    """
    words = sorted(_WORD.findall(sought), key=len, reverse=True)
    return words, sought.endswith("(") and sought.count("(") == 1 and " " not in sought

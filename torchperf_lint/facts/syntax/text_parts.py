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


class Vocabulary(dict[str, set[str]]):
    """What is sought, a word or a part of one -> the words that hold it, of all texts that were asked so far.

    The files of a project share most of their words: each is looked through once, and not once for each file.
    """

    def __init__(self) -> None:
        super().__init__()
        self._words: set[str] = set()

    def __missing__(self, sought: str) -> set[str]:
        found = self[sought] = {word for word in self._words if sought in word}
        return found

    def words(self, text: str) -> set[str]:
        """The runs of ASCII letters, digits and `_` of a text, each once."""
        found = set(text.encode("utf-8", "surrogatepass").translate(_WORDS_ONLY).decode("ascii").split())
        new = found - self._words
        self._words |= new
        joined = " ".join(new)
        for sought, words in self.items():
            if sought in joined:
                words.update(word for word in new if sought in word)
        return found


class TextParts:
    """Stands in for a text where it is asked what it holds."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._words = vocabulary.words(text)

    def __contains__(self, sought: str) -> bool:
        words, called = _parts(sought)
        for word in words:
            if self._vocabulary[word].isdisjoint(self._words):
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

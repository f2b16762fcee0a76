"""What is sought in a text without going through all of it.

Some 380 triggers are sought in every file, and most are in few. A text is asked for the words of a trigger first;
only where they are all found, for the trigger itself.
"""

from __future__ import annotations

import re
import string
from functools import cached_property
from typing import NamedTuple

_WORD = re.compile(r"\w+", re.ASCII)
_IN_WORDS = f"{string.ascii_letters}{string.digits}_".encode()
_WORDS_ONLY = bytes(sign if sign in _IN_WORDS else ord(" ") for sign in range(256))
"""For `bytes.translate`, which takes a thirtieth of the time of `str.translate`."""


class _Sought(NamedTuple):
    """Something that is sought in many texts."""

    holding: list[set[str]]
    """For each of its words, the longest first, as few texts hold it: the words of all texts that it is in."""
    is_word: bool
    """Whether it is one word itself, or a part of one."""
    called: bool
    """Whether it ends where arguments begin: `.item(`, `torch.arange(`."""


class Vocabulary(dict[str, set[str]]):
    """What is sought, a word or a part of one -> the words that hold it, of all texts that were asked so far.

    The files of a project share most of their words: each is looked through once, and not once for each file.
    """

    def __init__(self) -> None:
        super().__init__()
        self._words: set[str] = set()
        self.needed = _Needed(self)

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


class _Needed(dict[str, _Sought]):
    """What is sought -> how to go about it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, sought: str) -> _Sought:
        words = sorted(_WORD.findall(sought), key=len, reverse=True)
        called = sought.endswith("(") and sought.count("(") == 1 and " " not in sought
        made = _Sought([self._vocabulary[word] for word in words], words == [sought], called)
        self[sought] = made
        return made


class TextParts:
    """Stands in for a text where it is asked what it holds."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._words = vocabulary.words(text)

    def __contains__(self, sought: str) -> bool:
        holding, is_word, called = self._vocabulary.needed[sought]
        for words in holding:
            if words.isdisjoint(self._words):
                return False
        return is_word or sought in (self._called if called else self._text)

    @cached_property
    def _called(self) -> str:
        """What stands before each bracket, back to a blank: a twentieth of the text."""
        before = {part.rpartition(" ")[2] for part in self._text.split("(")[:-1]}
        return "".join(f"{part}(" for part in before)

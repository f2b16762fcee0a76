"""What is sought in a text without going through all of it.

Some 380 triggers are sought in every file, and most are in few. A text is asked for the words of a trigger first;
only where they are all found, for the trigger itself.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
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
        self._sought: dict[str, set[str]] = {}
        """Word -> what is sought and in it; of most words nothing is."""

    def __missing__(self, sought: str) -> set[str]:
        found = self[sought] = set()
        self._take(sought, self._words)
        return found

    def _take(self, sought: str, words: Iterable[str]) -> None:
        holding = [word for word in words if sought in word]
        self[sought].update(holding)
        for word in holding:
            self._sought.setdefault(word, set()).add(sought)

    def words(self, text: str) -> set[str]:
        """The runs of ASCII letters, digits and `_` of a text, each once."""
        found = set(text.encode("utf-8", "surrogatepass").translate(_WORDS_ONLY).decode("ascii").split())
        new = found - self._words
        self._words |= new
        joined = " ".join(new)
        for sought in self:
            if sought in joined:
                self._take(sought, new)
        return found

    def sought_in(self, words: set[str], sought: Iterable[str]) -> Iterator[str]:
        """Those of what is sought that are in one of the words."""
        for one in sought:
            self[one]  # sought from now on
        found = {one for word in self._sought.keys() & words for one in self._sought[word]}
        return (one for one in sought if one in found or not one)


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

    def held(self, asked: tuple[str, ...]) -> frozenset[str]:
        """Those of many that the text holds: few are left to be looked for one by one."""
        by_word = _by_longest_word(asked)
        found = self._vocabulary.sought_in(self._words, by_word)
        return frozenset(one for word in found for one in by_word[word] if one in self)

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


@lru_cache(16)
def _by_longest_word(asked: tuple[str, ...]) -> dict[str, list[str]]:
    """The longest word of each that is sought -> all that have it; empty for those without a word."""
    found: dict[str, list[str]] = {}
    for one in asked:
        words, _ = _parts(one)
        found.setdefault(words[0] if words else "", []).append(one)
    return found

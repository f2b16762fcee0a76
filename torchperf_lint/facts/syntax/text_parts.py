"""What is sought in a text without going through all of it.

Some 390 triggers are sought in every file, and most are in few. A text is asked for the words of a trigger first;
only where they are all found, for the trigger itself.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple

_WORD = re.compile(r"\w+", re.ASCII)
_IN_WORDS = f"{string.ascii_letters}{string.digits}_".encode()
_WORDS_ONLY = bytes(sign if sign in _IN_WORDS else ord(" ") for sign in range(256))
"""For `bytes.translate`, which takes a thirtieth of the time of `str.translate`."""
_SHORT = 2
"""Letters of what is in words of almost any text."""


class Vocabulary(dict[str, list[str]]):
    """A word of the texts that were asked so far -> the parts of words that are sought and in it, if any are.

    The files of a project share most of their words: each is looked through once, and not once for each file.
    """

    def __init__(self) -> None:
        super().__init__()
        self._words: set[str] = set()
        self.sought: set[str] = set()
        """Parts of words; none is left out again."""
        self._asked: set[tuple[str, ...]] = set()

    def words(self, text: str) -> set[str]:
        """The runs of ASCII letters, digits and `_` of a text, each once."""
        found = set(text.encode("utf-8", "surrogatepass").translate(_WORDS_ONLY).decode("ascii").split())
        new = found - self._words
        self._words |= new
        joined = " ".join(new)
        for part in self.sought:
            if part in joined:
                self._take(part, new)
        return found

    def seek(self, asked: tuple[str, ...]) -> None:
        """Look for the parts of words in what is asked from now on."""
        if asked in self._asked:
            return
        self._asked.add(asked)
        for part in {part for one in _parts(asked) for part in one.of_words} - self.sought:
            self.sought.add(part)
            self._take(part, self._words)

    def _take(self, part: str, words: Iterable[str]) -> None:
        for word in words:
            if part in word:
                self.setdefault(word, []).append(part)

    def sought_in(self, words: set[str]) -> set[str]:
        """What is sought by now and in one of the words."""
        return {part for word in self.keys() & words for part in self[word]}


class TextParts:
    """Stands in for a text where it is asked what it holds."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._words = vocabulary.words(text)
        self._in_words: set[str] = set()
        self._sought = 0
        """How many parts of words were sought when it was seen which are there."""

    def __contains__(self, sought: str) -> bool:
        return sought in self.likely((sought,)) and self.holds(sought)

    def likely(self, asked: tuple[str, ...]) -> frozenset[str]:
        """Those of several that the text may hold, as it has all of their words: of the others it holds none."""
        self._vocabulary.seek(asked)
        if self._sought < len(self._vocabulary.sought):
            self._in_words, self._sought = self._vocabulary.sought_in(self._words), len(self._vocabulary.sought)
        has_words, has_parts = self._words.issuperset, self._in_words.issuperset
        return frozenset([one.sought for one in _parts(asked) if has_words(one.words) and has_parts(one.of_words)])

    def holds(self, likely: str) -> bool:
        """Whether the text holds what is likely."""
        ((_, _, of_words, called),) = _parts((likely,))
        return of_words == (likely,) or likely in (self._called if called else self._text)

    @cached_property
    def _called(self) -> str:
        """What stands before each bracket, back to a blank: a twentieth of the text."""
        before = {part.rpartition(" ")[2] for part in self._text.split("(")[:-1]}
        return "".join(f"{part}(" for part in before)


class _Parts(NamedTuple):
    """What is sought, and the words in it."""

    sought: str
    words: tuple[str, ...]
    """Those with something else on both sides: a text has them as they are."""
    of_words: tuple[str, ...]
    """Those at an end, which may go on in a text; very short ones, which are in any text, are left out."""
    is_called: bool
    """Whether it ends where arguments begin: `.item(`, `torch.arange(`."""


@lru_cache(4096)
def _parts(asked: tuple[str, ...]) -> list[_Parts]:
    return [_parts_of_one(sought) for sought in asked]


def _parts_of_one(sought: str) -> _Parts:
    found = [(match.group(), match.start() > 0 and match.end() < len(sought)) for match in _WORD.finditer(sought)]
    words = tuple(word for word, whole in found if whole)
    of_words = tuple(word for word, whole in found if not whole and (len(word) > _SHORT or word == sought))
    called = sought.endswith("(") and sought.count("(") == 1 and " " not in sought
    return _Parts(sought, words, of_words, called)
